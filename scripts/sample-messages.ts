/** Prints 100 messages, log lines and titles of tests for reading aloud: `node scripts/sample-messages.ts SEED`. */
import { messagesOfPacks, messagesOfSources, sampleOf, titles } from '../test/service/code/messages.ts';

const [, , seed = 'words'] = process.argv;
for (const { text, place } of sampleOf([...messagesOfSources(), ...messagesOfPacks(), ...titles()], seed, 100))
  console.log(`${place.replace(/:\d+$/, '')} | ${text.replaceAll('\n', ' ')}`);
