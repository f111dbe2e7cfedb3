/** Planned attacks: steps that follow each other without random steps in between. */
import { nameOf } from '../../service/users/a-user.ts';
import { type Choices, group } from './choices.ts';
import { honest } from './people.ts';
import { bySub, emails, marks, mergePatch, metadata, passwords, restored, sources, strays, withoutRights } from './pools.ts';
import type { Step } from './steps.ts';

export const directSequence = (by: Choices): Step[] =>
  by.weighted([
    [4, () => takeover(by)],
    [2.5, () => secondRecord(by)],
    [2, () => madeAgain(by)],
    [1.5, () => marked(by)],
  ]);

/** Begins a sequence, while all guarantees still apply to all users. */
export const opening = (by: Choices): Step[] => [secondRecord, marked, madeAgain].flatMap((plan) => plan(by));

const remove = (by: Choices, name: string): Step =>
  by.isOnce(0.5)
    ? { do: 'kubectl', method: 'DELETE', path: `${group}/users/${name}`, ...(by.isOnce(0.5) && { body: { propagationPolicy: 'Orphan' } }) }
    : { do: 'api', as: 'token', method: 'DELETE', path: `/auth/v1/users/${name}` };

function create(by: Choices, email: string, name: string): Step {
  const metadataOf = { name, ...(by.isOnce(0.3) && by.oneOf(metadata)) };
  const spec = { email, username: '', ...by.oneOf(sources), is_admin: false };
  const body = { apiVersion: 'auth.platform.io/v1', kind: 'User', metadata: metadataOf, spec };
  return { do: 'kubectl', method: 'POST', path: `${group}/users`, body };
}

const setPassword = (name: string, password: string): Step => ({
  ...{ do: 'api', as: 'token', method: 'PATCH', path: `/auth/v1/users/${name}` },
  body: { spec: { password } },
});

/** Creates a record under a name, sets its password and logs in. */
function takeover(by: Choices): Step[] {
  const email = by.oneOf(emails);
  const name = by.isOnce(0.7) ? nameOf(email) : by.name();
  const password = by.knownPassword();
  const before: Step[] = [{ do: 'kubectl', method: 'DELETE', path: `${group}/users/${name}` }];
  const pause: Step[] = [{ do: 'wait', ms: 1_300 }];
  const after: Step[] = [{ do: 'kubectl', method: 'DELETE', path: `${group}/users/${name}` }];
  const sometimes = (steps: Step[]) => (by.isOnce(0.4) ? steps : []);
  return [
    ...sometimes(before),
    create(by, email, name),
    ...sometimes(pause),
    setPassword(name, password),
    { do: 'login', email, password, storage: by.storage() },
    ...sometimes(after),
  ];
}

/** Creates a record with the address of an honest user under a name that breaks the naming rule, and deletes it. */
function secondRecord(by: Choices): Step[] {
  // The guarantees for administrators hold to the end, so they are picked more often.
  const { email } = by.isOnce(0.5) ? by.oneOf(honest) : by.oneOf(honest.filter(({ isAdmin }) => isAdmin));
  const name = by.oneOf(strays);
  const change = by.isOnce(0.3) ? [setPassword(name, by.knownPassword())] : [];
  return [
    create(by, by.isOnce(0.7) ? email : by.inOtherCase(email), name),
    { do: 'wait', ms: 1_300 },
    { do: 'look' },
    ...change,
    remove(by, name),
    { do: 'wait', ms: 300 },
    { do: 'look' },
  ];
}

/** Deletes a record with open credentials and creates another under its name. The credentials must stay invalid. */
function madeAgain(by: Choices): Step[] {
  const email = by.isEmbedded ? by.oneOf(withoutRights) : 'mallory@example.com';
  const name = nameOf(email);
  const [password = '', second = ''] = passwords;
  const sub = by.oneOf(bySub);
  const make = (word: string): Step => ({
    ...{ do: 'api', as: 'token', method: 'POST', path: '/auth/v1/users' },
    body: { spec: { email, password: word } },
  });
  const logIn: Step = by.isEmbedded
    ? { do: 'login', email, password, storage: by.storage() }
    : { do: 'issuer', claims: { sub, email, email_verified: true }, storage: by.storage() };
  const again: Step[] = by.isEmbedded ? [make(second), make(second)] : [logIn, create(by, email, name)];
  if (restored.includes(email)) again.push({ do: 'restore', email });
  return [
    ...(by.isEmbedded ? [make(password), setPassword(name, password)] : []),
    logIn,
    { do: 'token', as: by.isEmbedded ? email : sub },
    remove(by, name),
    by.oneOf(again),
    { do: 'look' },
    { do: 'restore', email: by.oneOf(restored) },
  ];
}

/** Writes marks of unfinished records. Fields that the role can write must not decide whether a record is deleted. */
function marked(by: Choices): Step[] {
  const path = `${group}/users/${nameOf(by.oneOf(restored))}`;
  return [
    { do: 'kubectl', method: 'PATCH', path, type: mergePatch, body: { metadata: by.oneOf(marks) } },
    { do: 'clock', seconds: by.oneOf([125, 1_300]) },
    { do: 'wait', ms: 1_300 },
    { do: 'look' },
  ];
}
