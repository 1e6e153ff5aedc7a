import assert from "node:assert/strict";
import fc from "fast-check";
import { checkTopic, decodeTopic, encodeTopic, MAX_TOPIC_BYTES, TopicError, wordOfTopic } from "../lib/event.ts";

const utf8 = new TextEncoder();

Deno.test("a topic that keeps the rules is accepted", () => {
  const topics = [
    "color",
    "session.abc123.agent.7.state",
    "message.sent:conv-123",
    "a/b",
    "100%",
    "é.日本",
    "..".replace("..", "a.b"),
  ];
  for (const topic of [...topics, "*", "a.>", "_", "_x", "x__", "a".repeat(MAX_TOPIC_BYTES)]) checkTopic(topic);
});

Deno.test("a topic that breaks a rule is refused by an error that names the rule", () => {
  const refused: [topic: string, rule: RegExp][] = [
    ["", /is empty/],
    ["__subscribe", /"__subscribe" starts with "__", which is reserved/],
    ["__", /reserved/],
    ["a..b", /"a..b" has an empty segment/],
    ["..", /empty segment/],
    [".a", /empty segment/],
    ["a.", /empty segment/],
    ["two words", /"two words" holds white space/],
    ["tab\tbed", /white space/],
    ["a\nb", /white space/],
    ["a\0b", /"a\\u0000b" holds a control character/],
    ["a\x9fb", /control character/],
    ["a\ud800", /surrogate/],
    ["a".repeat(MAX_TOPIC_BYTES + 1), /is 201 bytes long as a file name: it must be at most 200/],
    ["/".repeat(67), /is 201 bytes long/],
    ["日".repeat(67), /is 201 bytes long/],
  ];
  for (const [topic, rule] of refused) {
    assert.throws(() => checkTopic(topic), (error) => {
      assert(error instanceof TopicError);
      assert.match(error.message, rule);
      assert(!error.message.includes("\n") && error.message.length < 200, error.message);
      return true;
    });
  }
});

Deno.test("what cannot stand in a file name is written %XX", () => {
  assert.equal(encodeTopic("a/b"), "a%2Fb");
  assert.equal(encodeTopic("100%"), "100%25");
  assert.equal(encodeTopic("../../etc/passwd"), "..%2F..%2Fetc%2Fpasswd");
  assert.equal(encodeTopic("a\0\x7f\x85b"), "a%00%7F%C2%85b");
  assert.equal(encodeTopic("日本 x"), "日本 x");
});

Deno.test("a file name that does not decode is taken literally", () => {
  assert.equal(decodeTopic("a%2fb"), "a/b");
  assert.equal(decodeTopic("%E6%97%A5"), "日");
  for (const literal of ["100%", "%", "%2", "%zz", "a%2Gb", "%ff", "%2F%", "%e6%97"]) {
    assert.equal(decodeTopic(literal), literal);
  }
});

Deno.test("property: every topic survives its file name, which has no / and no control character", () => {
  fc.assert(fc.property(fc.string({ unit: "binary" }), (topic) => {
    const name = encodeTopic(topic);
    assert(!/[/\p{Cc}]/u.test(name));
    assert.equal(decodeTopic(name), topic.toWellFormed());
  }));
});

Deno.test("property: checkTopic accepts what keeps the rules, and nothing else", () => {
  const unit = fc.constantFrom(..."ab._:-*>/% \t\n\0\x80é日😀".match(/./gsu)!);
  fc.assert(fc.property(fc.string({ unit, maxLength: 90 }), (topic) => {
    const keeps = topic.split(".").every((segment) => segment !== "") && !/[\s\p{Cc}]/u.test(topic) &&
      !topic.startsWith("__") && utf8.encode(encodeTopic(topic)).length <= 200;
    if (keeps) checkTopic(topic);
    else assert.throws(() => checkTopic(topic), TopicError);
  }));
});

Deno.test("in a line of text a topic is one word", () => {
  assert.equal(wordOfTopic("session.a:b/c%"), "session.a:b/c%");
  assert.equal(wordOfTopic("two words\n\0"), "two%20words%0A%00");
});
