/** Random attacks of a user who has exactly the role atrium-users-admin, with kubectl and the API. */
import { readFile } from 'node:fs/promises';
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { attackAtRandom, play, type Sequence } from './run.ts';

const { HOSTILE_STEPS = '3200', HOSTILE_SEED, HOSTILE_SCRIPT } = process.env;
const seed = Number(HOSTILE_SEED ?? Math.floor(Math.random() * 1_000_000));

describe('REC a user who may edit users', function () {
  this.timeout(0);

  if (HOSTILE_SCRIPT)
    it(`gains no further right by the steps of ${HOSTILE_SCRIPT}`, async () => {
      const failure = await play(JSON.parse(await readFile(HOSTILE_SCRIPT, 'utf8')) as Sequence);
      expect(failure?.notes.join('\n'), failure?.violation.message).to.equal(undefined);
    });
  else
    it(`gains no further right by ${HOSTILE_STEPS} random steps (HOSTILE_SEED=${seed})`, async () => {
      const { done, script } = await attackAtRandom(Number(HOSTILE_STEPS), seed);
      expect(script, script).to.equal(undefined);
      expect(done).to.be.at.least(Number(HOSTILE_STEPS));
    });
});
