/**
 * The Linux kernel as the client: a guest mounts the server and uses the files as people do in a shell.
 *
 * The environment variable OLLIE_V9FS_GUEST names a program that boots a Linux kernel, runs a script in it as root, and prints
 * what the script prints; in the guest, this machine's loopback is 10.0.2.2. Without it, this is left out.
 */
import assert from "node:assert/strict";
import { within } from "../deadline.ts";
import { startServer } from "../cli/ollie.ts";

const guest = Deno.env.get("OLLIE_V9FS_GUEST");
if (guest === undefined) console.error("without OLLIE_V9FS_GUEST, the Linux kernel is not tried as a client");

/** What a shell says after `== NAME` belongs to that name. A program that waits for events is interrupted after a while. */
const script = (port: string, version: string) => `
  mount -t 9p -o trans=tcp,port=${port},version=${version},uname=root 10.0.2.2 /mnt || exit
  echo "== ls"; ls -l /mnt | awk '{ print $1, $NF }'

  echo "== cat"
  (sleep 1; echo 'color red' > /mnt/pub) &
  timeout -s INT 3 cat /mnt/event; echo "status $?"; wait
  echo "== alive"; ls /mnt

  echo "== filter"
  exec 3<>/mnt/event
  echo number >&3; echo "status $?"
  (sleep 1; echo 'color green' > /mnt/pub; echo 'number one' > /mnt/pub; echo 'number two' >> /mnt/pub) &
  timeout -s INT 3 cat <&3; echo "status $?"; wait

  echo "== bad"
  echo 'a.>.b' >&3; echo "status $?"
  exec 3>&-

  echo "== one event a read"
  (sleep 1; printf 'n 1\\nn 2\\nn 3\\n' > /mnt/pub) &
  timeout 5 dd if=/mnt/event bs=4096 count=2 2>/dev/null; wait

  echo "== a long event"
  (sleep 1; head -c 100000 /dev/zero | tr '\\0' x | sed 's/^/long /' > /mnt/pub) &
  timeout 5 dd if=/mnt/event bs=10000 count=11 2>/dev/null | wc -c; wait

  echo "== buffers longer than a message"
  for size in 65536 131072 262144; do
    (sleep 1; echo 'long a payload that is longer than what a message has besides' > /mnt/pub) &
    timeout 5 dd if=/mnt/event bs=$size count=1 2>/dev/null; wait
  done

  echo "== without a newline"
  (sleep 1; printf 'color blue' > /mnt/pub) &
  timeout 5 head -n 1 /mnt/event; wait

  echo "== json"
  (sleep 1; echo 'n 5' > /mnt/pub) &
  timeout 5 head -n 1 /mnt/event.json | sed 's/.*"topic"/"topic"/'; wait

  echo "== stats"; sed -n '/^subscriptions\\|^events_published/p' /mnt/stats
  echo "== refusals"
  (echo x > /mnt/stats; cat /mnt/pub; cat /mnt/nothing; mkdir /mnt/d; rm /mnt/event; mv /mnt/pub /mnt/bup) 2>&1 |
    sed 's/.*: //'
  echo "== umount"; umount /mnt; echo "status $?"
`;

Deno.test({
  name: "the Linux kernel mounts it, as 9p2000 and as 9p2000.u",
  ignore: guest === undefined,
  fn: async () => {
    const { running, address } = await startServer("--listen", "tcp:127.0.0.1:0");
    await using _ = running;
    const port = address.replace("tcp:127.0.0.1:", "");
    const file = Deno.makeTempFileSync();
    const versions = ["9p2000", "9p2000.u"];
    Deno.writeTextFileSync(file, versions.map((version) => `(${script(port, version)})`).join("\necho '## next'\n"));
    const { stdout } = await within(
      new Deno.Command(guest!, { args: [file, "300"], stdout: "piped" }).output(),
      "the end of the guest",
      310_000,
    );
    Deno.removeSync(file);
    // The kernel writes to the same console.
    const lines = new TextDecoder().decode(stdout).split("\n").filter((line) => !/^\[ *\d+\.\d+\]/.test(line));
    const [plain, unix] = lines.join("\n").split("## next\n").map(sectionsOf);
    for (const sections of [plain, unix]) {
      assert.equal(
        sections["ls"],
        "total 0\n-rw-rw-rw- event\n-rw-rw-rw- event.json\n-r--r--r-- id\n--w--w--w- pub\n-rw-rw-rw- pub.json\n-r--r--r-- stats\n",
      );
      // 130: it was the interruption that ended it, and it did.
      assert.equal(sections["cat"], "color red\nstatus 130\n");
      assert.match(sections["alive"], /event\.json/);
      assert.equal(sections["filter"], "status 0\nnumber one\nnumber two\nstatus 130\n");
      assert.equal(sections["one event a read"], "n 1\nn 2\n");
      assert.equal(sections["a long event"], `${"long ".length + 100_000 + 1}\n`);
      assert.equal(
        sections["buffers longer than a message"],
        "long a payload that is longer than what a message has besides\n".repeat(3),
      );
      assert.equal(sections["without a newline"], "color blue\n");
      assert.equal(sections["json"], '"topic":"n","payload":5}\n');
      assert.match(sections["stats"], /^subscriptions 0\nevents_published \d+\n$/);
      assert.equal(
        sections["refusals"],
        "Permission denied\nPermission denied\nNo such file or directory\nPermission denied\nOperation not permitted\n" +
          "Operation not permitted\n",
      );
      assert.match(sections["umount"], /^status 0\n/);
    }
    assert.match(plain["bad"], /Unknown error 526\nstatus 1\n$/);
    assert.match(unix["bad"], /Invalid argument\nstatus 1\n$/);
  },
});

function sectionsOf(text: string): Record<string, string> {
  return Object.fromEntries(
    text.split(/^== /m).slice(1).map((section) => {
      const end = section.indexOf("\n");
      return [section.slice(0, end), section.slice(end + 1)];
    }),
  );
}
