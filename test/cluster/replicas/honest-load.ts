import { setTimeout as sleep } from 'node:timers/promises';
import { Agent, type Dispatcher, request } from 'undici';
import { z } from 'zod';
import { isAllowed, may, namespace, question, resources, reviews } from './callers.ts';
import { type Installation, localUsers, tokenHolders } from './installation.ts';
import { Person, shortIdle } from './person.ts';

/** Percentages of the kinds of requests. A login counts as one, although it takes six requests. */
const shares = { pages: 60, reviews: 34.5, refreshes: 5, logIns: 0.5 } as const;
type Kind = keyof typeof shares;
const kinds = ['pages', 'reviews', 'refreshes', 'logIns'] as const;

const connections = 50;
/** Bound of open requests. An overloaded machine lowers the rate instead of growing a queue. */
const maxOpen = 60;
/** Bounds of open requests by kind. Delayed requests are made up for later. */
const maxOpenOf: Record<Kind, number> = { pages: maxOpen, reviews: maxOpen, refreshes: 8, logIns: 4 };
/** Number of users that are logged in. The others of `localUsers` log in while the load runs. */
const sessionCount = 20;
const pageCount = 4;
const pageSize = localUsers.length / pageCount;

const userList = z.object({ total: z.literal(localUsers.length), items: z.array(z.object({ spec: z.object({ email: z.string() }) })) });

export interface LoadReport {
  seconds: number;
  /** Durations in milliseconds. */
  kinds: Record<Kind, { count: number; median: number; p99: number; longest: number }>;
  /** Lines about requests without an answer or with a wrong one. */
  lost: string[];
}

/** Load of ordinary users at a fixed rate. Requests begin at their times, also while earlier ones are open, within `maxOpen`. */
export class HonestLoad {
  readonly #urls: readonly [string, string];
  readonly #agent = new Agent({ connections, ...shortIdle });
  readonly #people: Person[] = [];
  readonly #refreshing = new Set<Person>();
  readonly #tokens: readonly { person: (typeof tokenHolders)[number]; token: string }[];
  readonly #times: Record<Kind, number[]> = { pages: [], reviews: [], refreshes: [], logIns: [] };
  readonly #begun: Record<Kind, number> = { pages: 0, reviews: 0, refreshes: 0, logIns: 0 };
  readonly #lost: string[] = [];
  readonly #open = new Set<Promise<void>>();
  readonly #openOf: Record<Kind, number> = { pages: 0, reviews: 0, refreshes: 0, logIns: 0 };

  private constructor(installation: Installation) {
    this.#urls = [installation.balancer.url, installation.proxy.url];
    this.#tokens = tokenHolders.map((person) => ({ person, token: installation.token(person) }));
  }

  /** Logs in users of an installation. Requires a call of `grantRights` before. */
  static async prepare(installation: Installation): Promise<HonestLoad> {
    const load = new HonestLoad(installation);
    for (let n = 0; n < sessionCount; n += 1) load.#people.push(await load.#logIn(n));
    return load;
  }

  /** Runs the load until the work is done. @throws the error of the work */
  async during(work: () => Promise<void>, { perSecond }: { perSecond: number }): Promise<LoadReport> {
    const begun = performance.now();
    let isOver = false;
    const working = work().finally(() => {
      isOver = true;
    });
    working.catch(() => undefined);
    for (let sent = 0; !isOver; await sleep(5)) {
      const due = ((performance.now() - begun) * perSecond) / 1000;
      for (; sent < due && this.#open.size < maxOpen; sent += 1) this.#begin(this.#nextKind(sent));
    }
    await Promise.all(this.#open);
    await working;
    return this.#report((performance.now() - begun) / 1000);
  }

  close(): Promise<void> {
    return this.#agent.close();
  }

  /** Returns the kind that is farthest behind its share and below its bound. */
  #nextKind(sent: number): Kind {
    const behind = (kind: Kind) => (sent * shares[kind]) / 100 - this.#begun[kind];
    const possible = kinds.filter((kind) => this.#openOf[kind] < maxOpenOf[kind]);
    return possible.reduce((most, kind) => (behind(kind) > behind(most) ? kind : most), 'pages');
  }

  #begin(kind: Kind): void {
    const n = this.#begun[kind];
    this.#begun[kind] += 1;
    this.#openOf[kind] += 1;
    const at = performance.now();
    const open = this.#send(kind, n)
      .then(
        (wrong) => wrong,
        (error: unknown) => String(error instanceof Error && error.cause ? `${error} (${error.cause})` : error),
      )
      .then((wrong) => {
        this.#times[kind].push(performance.now() - at);
        if (wrong !== undefined) this.#lost.push(`${new Date().toISOString()} ${kind} ${n}: ${wrong.slice(0, 400)}`);
        this.#open.delete(open);
        this.#openOf[kind] -= 1;
      });
    this.#open.add(open);
  }

  /** Sends a request. @returns the error in the answer, or undefined */
  #send(kind: Kind, n: number): Promise<string | undefined> {
    if (kind === 'pages') return this.#page(this.#person(n), n);
    if (kind === 'reviews') return n % 2 === 0 ? this.#reviewAsPerson(n) : this.#reviewByToken(n);
    if (kind === 'refreshes') return this.#refresh(n);
    return this.#newPerson(n);
  }

  #person(n: number): Person {
    const person = this.#people[n % this.#people.length];
    if (person === undefined) throw new Error('nobody is logged in');
    return person;
  }

  async #page(person: Person, n: number): Promise<string | undefined> {
    const page = (n % pageCount) + 1;
    const { status, text } = await person.get(`/auth/v2/users?limit=${pageSize}&page=${page}&sortBy=a,email`);
    const list = status === 200 ? userList.safeParse(JSON.parse(text)) : undefined;
    return list?.data?.items.length === pageSize ? undefined : `page ${page}: ${status} ${text}`;
  }

  async #reviewAsPerson(n: number): Promise<string | undefined> {
    const verb = n % 4 === 0 ? 'list' : 'delete';
    const { status, text } = await this.#person(n).post(reviews, question({ group: 'auth.platform.io', resource: 'users', verb }));
    return status === 201 && isAllowed(text) === (verb === 'list') ? undefined : `${verb} users: ${status} ${text}`;
  }

  async #reviewByToken(n: number): Promise<string | undefined> {
    const holder = this.#tokens[n % this.#tokens.length];
    const index = n % resources.length;
    const resource = resources[index];
    if (holder === undefined || resource === undefined) throw new Error('there is nobody to ask, or nothing');
    // A tenth of the questions is new, so no cache can answer.
    const name = n % 10 === 1 ? `one-of-a-kind-${n}` : 'any';
    const { status, text } = await this.#post(reviews, question({ resource, namespace, name }), {
      token: holder.token,
      url: this.#url(Math.floor(n / 2)),
    });
    const { person } = holder;
    return status === 201 && isAllowed(text) === may(person, index) ? undefined : `get ${resource} as ${person}: ${status} ${text}`;
  }

  async #refresh(n: number): Promise<string | undefined> {
    const inTurn = [...this.#people.slice(n % sessionCount), ...this.#people.slice(0, n % sessionCount)];
    const person = inTurn.find((one) => !this.#refreshing.has(one));
    if (person === undefined) throw new Error('everybody is being renewed');
    this.#refreshing.add(person);
    try {
      const { status, text } = await person.refresh();
      return status === 200 ? undefined : `${person.email}: ${status} ${text}`;
    } finally {
      this.#refreshing.delete(person);
    }
  }

  /** Logs in a user and lists users, perhaps at another replica. */
  async #newPerson(n: number): Promise<string | undefined> {
    return this.#page(await this.#logIn(sessionCount + (n % (localUsers.length - sessionCount))), n);
  }

  #logIn(n: number): Promise<Person> {
    return Person.logIn(localUsers[n] ?? '', { publicURL: this.#urls[0], url: this.#url(n), dispatcher: this.#agent });
  }

  /** Returns the address of one of both load balancers. Each gets half of the sessions and half of the tokens. */
  #url(n: number): string {
    return this.#urls[n % 2 === 0 ? 0 : 1];
  }

  async #post(path: string, content: unknown, { token, url }: { token: string; url: string }): Promise<{ status: number; text: string }> {
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
    const options: Omit<Dispatcher.RequestOptions, 'origin' | 'path'> = { method: 'POST', headers, body: JSON.stringify(content) };
    const { statusCode, body } = await request(`${url}${path}`, { ...options, dispatcher: this.#agent });
    return { status: statusCode, text: await body.text() };
  }

  #report(seconds: number): LoadReport {
    const of = (kind: Kind) => {
      const times = this.#times[kind].sort((a, b) => a - b);
      const at = (part: number) => Math.round(times[Math.min(times.length - 1, Math.floor(times.length * part))] ?? 0);
      return { count: times.length, median: at(0.5), p99: at(0.99), longest: at(1) };
    };
    return {
      seconds,
      kinds: { pages: of('pages'), reviews: of('reviews'), refreshes: of('refreshes'), logIns: of('logIns') },
      lost: this.#lost,
    };
  }
}
