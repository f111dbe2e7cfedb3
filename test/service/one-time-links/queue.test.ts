import { setImmediate as nextTurn } from 'node:timers/promises';
import { createLog } from '@atrium/http/telemetry/log.ts';
import { Metrics } from '@atrium/http/telemetry/metrics.ts';
import { KubernetesClient } from '@atrium/kubernetes/kubernetes-client.ts';
import { expect } from 'chai';
import { parseConfig } from '../../../src/config/load.ts';
import { LinkMail } from '../../../src/one-time-links/mails.ts';
import { Translations } from '../../../src/texts/texts.ts';
import { accountOf } from '../../../src/users/record/account.ts';
import { servicesOf } from '../../support/services.ts';
import { aStoredUser } from '../users/a-user.ts';

const jane = accountOf(aStoredUser('jane@example.com'));
const smtp = { host: '127.0.0.1', port: 1, tls: 'none', from: 'atrium@example.com' };

const translations = new Translations([]);

/** Records lookups, and delays the answers of the API server. */
function aQueue() {
  const connection = {
    server: 'http://127.0.0.1:1',
    tls: {},
    namespace: undefined,
    authorization: async () => '',
    discardAuthorization() {},
  };
  const apiServer = new KubernetesClient({ connection, requestTimeoutMs: 1_000, metrics: new Metrics() });
  const log = createLog({ level: 'silent', format: 'json' });
  const lookedUp: string[] = [];
  const { promise: answered, resolve } = Promise.withResolvers<undefined>();
  const linkMail = new LinkMail(servicesOf(apiServer, { log, config: parseConfig({ yaml: JSON.stringify({ smtp }) }) }), {
    title: () => 'Atrium',
    translations,
    links: {
      emailOf: async () => undefined,
      make: () => ({ url: '', expiresAt: new Date() }),
      rules: () => ({ now: new Date(), idleDays: 0 }),
    },
    accounts: {
      watch: { isSynced: true } as never,
      find(email) {
        lookedUp.push(email);
        return email === jane.email ? jane : undefined;
      },
    },
    passwordChange: { stateOf: () => answered },
  });
  const ask = (email: string, source: string) =>
    linkMail.forgotten({ email, texts: translations.first(), origin: { requestId: 'r', source, userAgent: '' } });
  return { ask, lookedUp, answer: () => resolve(undefined), stop: () => linkMail.stop() };
}

describe('the queue of mails for forgotten passwords', () => {
  const queue = forEach(aQueue);

  it('REC2-01 has looked nothing up, of whatever address, when the page is answered', async () => {
    for (const email of [jane.email, 'absent@example.com', '']) queue().ask(email, '10.0.0.1');
    expect(queue().lookedUp).to.deep.equal([]);
    await nextTurn();
    expect(queue().lookedUp).to.deep.equal([jane.email, 'absent@example.com', '']);
  });

  it('REC2-07 takes ten in an hour of one network', async () => {
    for (let request = 0; request < 10_000; request += 1) queue().ask('absent@example.com', `2001:db8::${(request % 4096).toString(16)}`);
    for (let turn = 0; turn < 20; turn += 1) await nextTurn();
    expect(queue().lookedUp).to.have.length(10);
  });

  it('REC2-07 drops further requests while a hundred wait, and looks up four at once', async () => {
    for (let request = 0; request < 10_000; request += 1)
      queue().ask(request < 4 ? jane.email : 'absent@example.com', `10.${request >> 8}.${request & 255}.1`);
    for (let turn = 0; turn < 20; turn += 1) await nextTurn();
    expect(queue().lookedUp).to.have.length(4);
    queue().answer();
    for (let turn = 0; turn < 200; turn += 1) await nextTurn();
    expect(queue().lookedUp).to.have.length(104);
  });
});

/** Returns a new instance for each test. */
function forEach<T extends { stop(): void }>(make: () => T): () => T {
  let made: T | undefined;
  beforeEach(() => {
    made = make();
  });
  afterEach(() => made?.stop());
  return () => {
    if (made === undefined) throw new Error('not in a test');
    return made;
  };
}
