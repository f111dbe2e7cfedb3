import { PostgresStore } from '@atrium/audit-store/postgres-store.ts';
import { expect } from 'chai';
import { itIsAnAuditStore } from '../../../packages/audit-store/test/support/store-suite.ts';
import { forSuite } from '../../support/for-suite.ts';
import { Postgres } from './postgres.ts';

const messageOf = (call: Promise<unknown>) =>
  call.then(
    () => 'answered',
    (error: Error) => error.message,
  );

describe('the audit store in PostgreSQL', () => {
  const postgres = forSuite(() => Postgres.start());

  itIsAnAuditStore(async () => {
    const connectionString = await postgres.database();
    return {
      open: (segmentSize) => PostgresStore.open({ connectionString }, () => undefined, segmentSize),
      remove: async () => undefined,
    };
  });

  it('refuses a server that is not there', async () => {
    const connectionString = 'postgresql:///audit?host=%2Fnowhere&user=atrium';
    expect(await messageOf(PostgresStore.open({ connectionString }, () => undefined))).to.include('/nowhere');
  });

  it('goes on when the server comes back, and reports the connection that broke', async () => {
    const broken: Error[] = [];
    const store = await PostgresStore.open({ connectionString: await postgres.database() }, (error) => broken.push(error));
    try {
      await store.list({}, { limit: 1 });
      await postgres.kill();
      expect(await messageOf(store.list({}, { limit: 1 }))).not.to.equal('answered');
      await postgres.run();
      expect(await store.list({}, { limit: 1 })).to.deep.equal({ events: [], last: undefined, newest: 0 });
      expect(broken).not.to.have.length(0);
    } finally {
      await store.stop();
    }
  });
});
