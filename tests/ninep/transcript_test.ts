/** Every transcript in transcripts/. */
import { runTranscript } from "./transcript.ts";

const directory = new URL("transcripts/", import.meta.url);

for (const { name } of Deno.readDirSync(directory)) {
  Deno.test(`9P transcript: ${name.replace(/\.txt$/, "")}`, async () => {
    await runTranscript(await Deno.readTextFile(new URL(name, directory)));
  });
}
