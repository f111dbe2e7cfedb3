import { setTimeout as sleep } from 'node:timers/promises';
import { Pool } from 'undici';
import { isAllowed, may, namespace, question, resources, reviews } from './callers.ts';
import { type Installation, type TokenHolder, tokenHolders } from './installation.ts';

/** Connections to each replica. All callers share them, with many open requests on each. */
const connections = 4;
const pipelining = 8;
const workers = 2 * connections * pipelining;

/** Resource of the binding that is created and deleted. */
const changing = 'replicationcontrollers';
const changeEveryMs = 7_000;
/** Value of `kubernetes.accessCache`. */
const staleMs = 5_000;

export interface ReviewReport {
  asked: number;
  seconds: number;
  /** Lines about missing answers, and about answers for another caller. */
  wrong: string[];
  /** Number of changes of the binding. */
  changes: number;
  /** MiB of each replica, at the start, in the middle and at the end. */
  residentMiB: number[][];
}

/** A fact that changes over time. Answers near a change may be either value, because replicas cache decisions. */
class Truth {
  readonly #changes: { at: number; doneAt: number; isTrue: boolean }[] = [{ at: Number.NEGATIVE_INFINITY, doneAt: 0, isTrue: false }];

  get changes(): number {
    return this.#changes.length - 1;
  }

  /** Changes the fact. The uncertainty lasts from the request until the API server has confirmed it. */
  async becomes(isTrue: boolean, change: () => Promise<void>): Promise<void> {
    const begun = { at: performance.now(), doneAt: Number.POSITIVE_INFINITY, isTrue };
    this.#changes.push(begun);
    await change();
    begun.doneAt = performance.now();
  }

  /** Reports whether an answer is possible between two times. */
  mayBe(told: boolean, from: number, to: number): boolean {
    return this.#changes.some(({ at, isTrue }, n) => isTrue === told && at <= to && (this.#changes[n + 1]?.doneAt ?? to) >= from - staleMs);
  }
}

/** Sends access reviews of five callers with different rights, mixed on the same connections to both replicas. */
export async function interleavedReviews(
  installation: Installation,
  { count, atLeast = 0, maxSeconds }: { count: number; atLeast?: number; maxSeconds: number },
): Promise<ReviewReport> {
  const pools = installation.replicas.map(({ url }) => new Pool(url, { connections, pipelining }));
  const callers = tokenHolders.map((person) => ({ person, token: installation.token(person), truth: new Truth() }));
  const memory = () => Promise.all(installation.replicas.map((replica) => replica.residentMiB()));
  const wrong: string[] = [];
  const residentMiB = [await memory()];
  const begun = performance.now();
  let asked = 0;

  const ask = async (n: number) => {
    // The factors and the number of replicas are coprime, so that all combinations occur.
    const caller = callers[(n * 7) % callers.length];
    const pool = pools[n % pools.length];
    if (caller === undefined || pool === undefined) throw new Error('there is nobody to ask');
    const { person, token, truth } = caller;
    const index = Math.floor(n / 3) % resources.length;
    const isChanging = n % 100 === 0;
    const resource = isChanging ? changing : (resources[index] ?? '');
    // A tenth of the questions is unique, so that it is not cached.
    const name = n % 10 === 5 ? `one-of-a-kind-${n}` : 'any';
    const at = performance.now();
    const { statusCode, body } = await pool.request({
      method: 'POST',
      path: reviews,
      idempotent: true,
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify(question({ resource, namespace, name })),
    });
    const text = await body.text();
    const isYes = statusCode === 201 ? isAllowed(text) : undefined;
    const isRight = isChanging ? isYes !== undefined && truth.mayBe(isYes, at, performance.now()) : isYes === may(person, index);
    if (!isRight) wrong.push(`${n} get ${resource} ${name} as ${person}: ${statusCode} ${text.slice(0, 300)}`);
  };
  const changes = () => callers.reduce((sum, { truth }) => sum + truth.changes, 0);
  const isEnough = () => asked >= count || (asked >= atLeast && performance.now() - begun > maxSeconds * 1000);
  const isOver = () => isEnough() && changes() > 0;
  const work = async () => {
    while (!isOver()) {
      asked += 1;
      if (asked === Math.floor(count / 2)) residentMiB.push(await memory());
      await ask(asked - 1);
    }
  };

  const working = Promise.all(Array.from({ length: workers }, work));
  const ended = working.then(
    () => true,
    () => true,
  );
  for (let turn = 0; ; turn += 1) {
    if (await Promise.race([ended, sleep(changeEveryMs, false)])) break;
    const { person, truth } = callers[turn % callers.length] ?? {};
    if (person === undefined || truth === undefined) break;
    const isTrue = Math.floor(turn / callers.length) % 2 === 0;
    await truth.becomes(isTrue, () => change(installation, person, isTrue));
  }
  await working;
  const seconds = (performance.now() - begun) / 1000;
  residentMiB.push(await memory());
  for (const { person, truth } of callers) if (truth.changes % 2 === 1) await change(installation, person, false);
  for (const pool of pools) await pool.close();
  return { asked, seconds, wrong, changes: changes(), residentMiB };
}

/** Grants a right to a user by its own binding, or revokes it. */
async function change({ admin }: Installation, person: TokenHolder, isGiven: boolean): Promise<void> {
  const metadata = { name: `${person}-${changing}`, namespace };
  const path = `/apis/rbac.authorization.k8s.io/v1/namespaces/${namespace}`;
  if (!isGiven) return admin.remove(`${path}/rolebindings/${metadata.name}`);
  const role = { apiVersion: 'rbac.authorization.k8s.io/v1', metadata };
  await admin.apply(
    { ...role, kind: 'Role', rules: [{ apiGroups: [''], resources: [changing], verbs: ['get'] }] },
    {
      ...role,
      kind: 'RoleBinding',
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: metadata.name },
      subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: person }],
    },
  );
}
