import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createLog } from '@atrium/http/telemetry/log.ts';
import { expect } from 'chai';
import { stringify } from 'yaml';
import { openStoreServer } from '../../../src/audit-store.ts';
import { parseConfig } from '../../../src/config/load.ts';
import { loopbackCertificates } from '../../cluster/certificates.ts';
import { itTakesHostileEvents } from '../../service/audit-store/hostile-events-suite.ts';
import { itExportsEvents } from '../../service/audit-store/log-export-suite.ts';
import { itKeepsEventsOfReplicas, itRemovesExpiredEvents, itServesStoreCalls } from '../../service/audit-store/store-server-suite.ts';
import { forSuite } from '../../support/for-suite.ts';
import { connectionWith } from '../../support/installed-cluster.ts';
import { Postgres, password } from './postgres.ts';

/** Files of a Secret in a folder that is removed after the suite. */
const secretFiles = () =>
  forSuite(
    async () => {
      const folder = await mkdtemp(join(tmpdir(), 'atrium-secret-'));
      const write = async (name: string, text: string) => {
        await writeFile(join(folder, name), text);
        return join(folder, name);
      };
      return { folder, write };
    },
    ({ folder }) => rm(folder, { recursive: true }),
  );

describe('atrium audit-store with PostgreSQL', () => {
  const postgres = forSuite(() => Postgres.start());
  const secret = secretFiles();
  const settings = async () => ({ postgres: { urlFile: await secret.write('url', `${await postgres.database()}\n`) } });

  describe('events of replicas', () => itKeepsEventsOfReplicas(settings));

  describe('calls of replicas', () => itServesStoreCalls(settings));

  describe('the end of events', () => itRemovesExpiredEvents(settings));

  describe('hostile events', () => itTakesHostileEvents(settings));

  describe('copies of events at a collector of logs', () => itExportsEvents(settings));
});

describe('the connection of atrium audit-store to PostgreSQL', () => {
  const tls = forSuite(
    () => loopbackCertificates(),
    () => undefined,
  );
  const other = forSuite(
    () => loopbackCertificates('another authority'),
    () => undefined,
  );
  const secured = forSuite(() => Postgres.start({ overTCP: tls.serving }));
  const plain = forSuite(() => Postgres.start({ overTCP: true }));
  const secret = secretFiles();

  /** Returns `opened`, or the problem. */
  const outcomeOf = async (url: string, { caFile }: { caFile?: string } = {}) => {
    const postgres = { urlFile: await secret.write('url', url), caFile };
    const callers = ['system:serviceaccount:atrium-system:atrium'];
    const config = parseConfig({
      yaml: stringify({ server: { host: '127.0.0.1', port: 0, metricsPort: 0 }, auditStore: { postgres, callers } }),
    });
    const log = createLog({ level: 'silent', format: 'json' });
    try {
      const store = await openStoreServer({
        config,
        connection: connectionWith('none', { url: 'http://127.0.0.1:1', certificateAuthority: '' }),
        log,
      });
      await store.start();
      await store.stop();
      return 'opened';
    } catch (error) {
      return (error as Error).message;
    }
  };
  const address = ({ port }: Postgres, { host = '127.0.0.1', word = password, query = '' } = {}) =>
    `postgresql://atrium:${encodeURIComponent(word)}@${host}:${port}/postgres${query}`;

  it('is made with TLS, whose authority and name are verified, and with the password', async () => {
    const caFile = await secret.write('ca.crt', tls.authority.certificate);
    for (const query of ['', '?sslmode=require', '?sslmode=verify-ca', '?sslmode=verify-full'])
      expect(await outcomeOf(address(secured, { query }), { caFile }), query).to.equal('opened');
    expect(await outcomeOf(address(secured, { host: 'localhost' }), { caFile })).to.equal('opened');
  });

  it('is refused with the reason for an unknown authority, a wrong password, a server without TLS, and one that is away', async () => {
    const caFile = await secret.write('ca.crt', tls.authority.certificate);
    const otherFile = await secret.write('other.crt', other.authority.certificate);
    const refused: [string, string | undefined, string][] = [
      [address(secured), undefined, 'unable to verify the first certificate'],
      [address(secured, { query: '?sslmode=require' }), otherFile, 'unable to verify the first certificate'],
      [address(secured, { word: 'wrong-word' }), caFile, 'password authentication failed for user "atrium"'],
      [address(plain), caFile, 'The server does not support SSL connections'],
      [
        'postgresql://atrium:wrong-word@127.0.0.1:1/audit',
        undefined,
        'the database audit at 127.0.0.1:1 cannot be opened (connect ECONNREFUSED',
      ],
    ];
    for (const [url, file, reason] of refused) {
      const outcome = await outcomeOf(url, file === undefined ? {} : { caFile: file });
      expect(outcome).to.include('auditStore.postgres: ').and.include(reason);
      expect(outcome).not.to.include('wrong-word');
    }
  });

  it('is made without TLS where the address requests it', async () => {
    expect(await outcomeOf(address(plain, { query: '?sslmode=disable' }))).to.equal('opened');
  });
});
