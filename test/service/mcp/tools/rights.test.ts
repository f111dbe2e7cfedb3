/** 2,000 random calls of tools beside SubjectAccessReviews of the API server. `AGENTS_SEED` plays the calls of a failure again. */
import { expect } from 'chai';
import { z } from 'zod';
import { eventually } from '../../../support/cluster-admin.ts';
import { forSuite } from '../../../support/for-suite.ts';
import { startDoor } from '../support.ts';
import {
  expectedAnswer,
  hidden,
  isSame,
  kinds,
  objects,
  type Question,
  randomCalls,
  seenAnswer,
  users,
  type World,
  warden,
} from './random-calls.ts';

const seed = Number(process.env.AGENTS_SEED ?? Math.floor(Math.random() * 1_000_000));
/** Calls of a user, who has 240 in a minute. */
const callsOfUser = 200;

const listed = z.object({ items: z.array(z.object({ metadata: z.object({ name: z.string(), namespace: z.string().default('') }) })) });

describe('random calls of agents', () => {
  const door = forSuite(() =>
    startDoor(
      { ...Object.fromEntries([...users].map(([user, { scope }]) => [user, { scope }])), [warden]: {} },
      {
        config: { lists: { resources: ['pods', 'configmaps', 'namespaces'].map((resource) => ({ version: 'v1', resource })) } },
        hasWorkloads: true,
        objects,
      },
    ),
  );
  const stored = new Map<string, { name: string; namespace: string }[]>();
  const decided = new Map<string, Promise<boolean>>();
  const world: World = {
    stored,
    may(user, question: Question) {
      const key = JSON.stringify([user, question]);
      const answer = decided.get(key) ?? door.kubernetes.isAllowed({ user, groups: ['system:authenticated'] }, question);
      decided.set(key, answer);
      return answer;
    },
  };

  before(async () => {
    for (const { group, resource } of [...kinds, { group: '', resource: 'events' }]) {
      const version = group === '' ? '/api/v1' : `/apis/${group}/v1`;
      const { body } = await door.kubernetes.call('GET', `${version}/${resource}`);
      stored.set(
        resource,
        listed.parse(body).items.map(({ metadata }) => metadata),
      );
    }
    stored.set(
      'events',
      (stored.get('events') ?? []).filter(({ name }) => /^quartz-\d\.\d$/.test(name)),
    );
    await eventually(
      () => door.call(warden, 'list', { resource: 'pods', limit: 200 }),
      ({ data }) => Array.isArray(data.items) && data.items.length === stored.get('pods')?.length,
    );
  });

  it(`get the answers that the rights of the user and the scope of the agent allow (seed ${seed})`, async () => {
    const differences: object[] = [];
    const codes = new Set<unknown>();
    let asked = 0;
    const work = async (user: string, index: number) => {
      const lent = users.get(user);
      const next = randomCalls(seed + index);
      if (lent === undefined) return;
      for (let count = 0; count < callsOfUser; count += 1) {
        const call = next();
        const expected = await expectedAnswer(call, user, lent, world);
        const { data, isError, text } = await door.call(user, call.tool, call.input);
        const seen = seenAnswer(call, data, isError);
        asked += 1;
        codes.add(isError && (data.error as { code: number }).code);
        if (!isSame(expected, seen)) differences.push({ user, ...call, expected, seen });
        if ([hidden, Buffer.from(hidden).toString('base64')].some((value) => text.includes(value)))
          differences.push({ user, ...call, expected: 'no value of a Secret' });
      }
    };
    await Promise.all([...users.keys()].map(work));

    expect(differences.slice(0, 5), `seed ${seed}: ${differences.length} of ${asked} calls differ`).to.deep.equal([]);
    expect(asked).to.equal(2_000);
    expect([...codes]).to.include.members([false, 400, 403, 404]);
  });
});
