import type { AuditEvent } from '@atrium/audit-store/event.ts';
import type { AuditStore } from '@atrium/audit-store/store.ts';
import { createLog } from '@atrium/http/telemetry/log.ts';
import { Metrics } from '@atrium/http/telemetry/metrics.ts';
import { badRequest } from '@atrium/objects/status.ts';
import { expect } from 'chai';
import { AuditIntake } from '../../../src/audit/audit-intake.ts';

describe('events that the store refuses', () => {
  it('are counted as lost, and keep no others waiting', async () => {
    const kept: string[] = [];
    const store: Pick<AuditStore, 'append'> = {
      async append(events) {
        if (events.some(({ verb }) => verb === 'refused')) throw badRequest('refused');
        kept.push(...events.map(({ auditID }) => auditID));
      },
    };
    const metrics = new Metrics();
    const intake = new AuditIntake({
      store: store as AuditStore,
      metrics,
      log: createLog({ level: 'silent', format: 'json' }),
      now: () => new Date(),
    });
    const all = Array.from({ length: 20 }, (_, index) => ({ auditID: `${index}`, verb: index % 7 === 3 ? 'refused' : 'get' }));
    for (const event of all) intake.record(event as AuditEvent);
    await intake.stop();
    expect(kept).to.deep.equal(all.flatMap(({ auditID, verb }) => (verb === 'get' ? [auditID] : [])));
    expect(await metrics.text()).to.include('atrium_audit_events_lost_total 3');
  });
});
