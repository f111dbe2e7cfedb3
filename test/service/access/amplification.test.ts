import { expect } from 'chai';
import type { Fault, ProxiedRequest } from '../../cluster/faults/fault-proxy.ts';
import type { Person } from '../../support/api-server.ts';
import { startFaultyServer } from '../../support/faulty-server.ts';
import { forSuite } from '../../support/for-suite.ts';
import { grant } from '../../support/grants.ts';

const path = '/auth/v1/selfsubjectaccessreviews';
/** Concurrent requests beside the one that a test waits for. */
const atOnce = 16;

/** Holds reviews at the API server until the test releases them, and counts them. */
class Held {
  readonly #waiting = new Set<() => void>();
  isOpen = false;
  most = 0;

  readonly fault: Fault = ({ pass, response }) => {
    if (this.isOpen) return pass();
    this.#waiting.add(pass);
    response.once('close', () => this.#waiting.delete(pass));
    this.most = Math.max(this.most, this.#waiting.size);
  };

  open(): void {
    this.isOpen = true;
    for (const pass of this.#waiting) pass();
    this.#waiting.clear();
  }
}

describe('LIM-11 the number of concurrent questions of one caller to the API server', () => {
  const server = forSuite(() => startFaultyServer());

  before(async () => {
    await grant(server.kubernetes, 'viewer', 'view');
  });
  afterEach(() => server.faults.mend());

  let asked = 0;
  const question = (namespace?: string) => {
    asked += 1;
    return { resourceAttributes: { verb: 'get', resource: 'pods', namespace: namespace ?? `n-${asked}` } };
  };
  const tokens = new Map<Person, string>();
  const tokenOf = async (person: Person) => {
    const token = tokens.get(person) ?? (await server.token(person));
    tokens.set(person, token);
    return token;
  };
  const post = async (as: Person, body: unknown, { query = '', ...more }: { query?: string; signal?: AbortSignal } = {}) =>
    server.request(`${path}${query}`, { method: 'POST', token: await tokenOf(as), body, ...more });
  /** Sends 100 questions. The first ten are new, and the others are the same in every batch, so each is sent to the API server once. */
  const batch = (as: Person, more: { query?: string; signal?: AbortSignal } = {}) => {
    const items = Array.from({ length: 100 }, (_, index) => ({ spec: index < 10 ? question() : question(`common-${index}`) }));
    return post(as, { kind: 'SelfSubjectAccessReviewList', items }, more);
  };
  const single = (as: Person) => post(as, { spec: question() });
  const isReview = ({ path: asking }: ProxiedRequest) => asking.endsWith('/selfsubjectaccessreviews');
  const isOf = async (person: Person) => {
    const authorization = `Bearer ${await tokenOf(person)}`;
    return (request: ProxiedRequest) => isReview(request) && request.headers.authorization === authorization;
  };

  it('is bounded for 100 batches of 100, beyond a queue they are 429, and others are answered meanwhile', async () => {
    const held = new Held();
    server.faults.inject(held.fault, await isOf('viewer'));
    const batches = Array.from({ length: 100 }, () => batch('viewer'));
    const refused = await Promise.race(batches);
    expect([refused.status, refused.headers.get('retry-after')]).to.deep.equal([429, '1']);
    expect(((await refused.json()) as { message: string }).message).to.contain('too many access reviews');

    expect((await single('bob')).status).to.equal(201);
    expect((await batch('bob')).status).to.equal(201);
    expect(held.most).to.be.within(1, atOnce);
    held.open();
    const codes = (await Promise.all(batches)).map(({ status }) => status);
    expect([...new Set(codes)].sort()).to.deep.equal([201, 429]);
    expect((await batch('viewer')).status).to.equal(201);
  });

  it('is bounded if the answers are explained', async () => {
    const held = new Held();
    server.faults.inject(held.fault, await isOf('nobody'));
    const batches = Array.from({ length: 10 }, () => batch('nobody', { query: '?explain=true' }));
    while (held.most < atOnce) expect((await single('bob')).status).to.equal(201);
    expect((await batch('bob')).status).to.equal(201);
    held.open();
    for (const { status } of await Promise.all(batches)) expect(status).to.equal(201);
    expect(held.most).to.equal(atOnce);
  });

  it('does not wait for a caller who has disconnected', async () => {
    const held = new Held();
    server.faults.inject(held.fault, await isOf('alice'));
    const leaving = new AbortController();
    const gone = Array.from({ length: 20 }, () => batch('alice', { signal: leaving.signal }).catch(() => undefined));
    while (held.most < atOnce) expect((await single('bob')).status).to.equal(201);
    leaving.abort();
    await Promise.all(gone);
    held.isOpen = true;
    expect((await single('alice')).status).to.equal(201);
  });
});
