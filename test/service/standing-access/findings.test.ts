import type { PolicyRule } from '@atrium/kubernetes/rbac/rules.ts';
import { expect } from 'chai';
import { findingsOf, reachOf, severityOf } from '../../../src/standing-access/findings.ts';
import type { StandingUse } from '../../../src/standing-access/schema.ts';

const aRule = (verbs: string[], resources: string[], more: Partial<PolicyRule> = {}): PolicyRule => ({
  ...{ verbs, resources, apiGroups: [''], resourceNames: [], nonResourceURLs: [] },
  ...more,
});

describe('findings about a standing binding', () => {
  const reaches: [string, PolicyRule[], string][] = [
    ['everything', [aRule(['*'], ['*'], { apiGroups: ['*'] })], 'FullControl'],
    ['everything of one name', [aRule(['*'], ['*'], { apiGroups: ['*'], resourceNames: ['one'] })], 'Escalation'],
    ['bind', [aRule(['bind'], ['clusterroles'])], 'Escalation'],
    ['all verbs on roles', [aRule(['*'], ['roles'])], 'Escalation'],
    ['impersonate users', [aRule(['impersonate'], ['users'])], 'Escalation'],
    ['impersonate service accounts, as `edit` does', [aRule(['impersonate'], ['serviceaccounts'])], 'Writes'],
    ['list Secrets', [aRule(['list'], ['secrets'])], 'Secrets'],
    ['write Secrets', [aRule(['create'], ['secrets'])], 'Writes'],
    ['list secrets of another group', [aRule(['list'], ['secrets'], { apiGroups: ['example.com'] })], 'Reads'],
    ['reads', [aRule(['get', 'list', 'watch'], ['pods'])], 'Reads'],
    ['a path', [aRule(['get'], [], { apiGroups: [], nonResourceURLs: ['/metrics'] })], 'Reads'],
    ['the widest of several rules', [aRule(['get'], ['pods']), aRule(['create'], ['pods/exec'])], 'Writes'],
    ['no rules', [], 'Nothing'],
  ];
  for (const [what, rules, reach] of reaches) it(`call ${what} ${reach}`, () => expect(reachOf(rules)).to.equal(reach));

  it('are a level lower in one namespace, and a level higher for every user', () => {
    const severity = (reach: 'FullControl' | 'Secrets' | 'Reads', isClusterWide: boolean, isForEveryone = false) =>
      severityOf({ reach, isClusterWide, isForEveryone });
    expect([severity('FullControl', true), severity('FullControl', false)]).to.deep.equal(['Critical', 'High']);
    expect([severity('Secrets', true), severity('Secrets', false)]).to.deep.equal(['High', 'Medium']);
    expect([severity('Reads', true), severity('Reads', false)]).to.deep.equal(['Low', 'Low']);
    expect([severity('FullControl', true, true), severity('Secrets', false, true)]).to.deep.equal(['Critical', 'High']);
    expect(severityOf({ reach: undefined, isClusterWide: true, isForEveryone: false })).to.equal('Unknown');
  });

  it('come with the reach first, and tell rights of which few were seen in use', () => {
    const full = { reach: 'FullControl', isClusterWide: true, isForEveryone: false } as const;
    const last = {
      ...{ auditID: 'e1', verb: 'delete', user: 'ada', requestReceivedTimestamp: '2026-01-12T10:00:00.000Z' },
      objectRef: { apiGroup: '', resource: 'pods' },
    };
    const used = (users: number) => ({ state: 'Used' as const, users, last }) satisfies StandingUse;
    expect(findingsOf(full, 14, used(3))).to.deep.equal(['FullControl', 'PartlyUsed']);
    expect(findingsOf(full, 3, used(3))).to.deep.equal(['FullControl']);
    expect(findingsOf(full, 14, { ...used(3), atLeast: true })).to.deep.equal(['FullControl']);
    expect(findingsOf(full, 3, { state: 'NotSeen', since: '2026-01-01T00:00:00.000Z' })).to.deep.equal(['FullControl', 'NotSeen']);
    expect(findingsOf(full, 3, { state: 'Unknown', reason: 'NoAudit' })).to.deep.equal(['FullControl']);
    expect(findingsOf({ ...full, reach: 'Reads', isForEveryone: true }, 0, { state: 'Unknown', reason: 'NoAudit' })).to.deep.equal([
      'Everyone',
    ]);
  });
});
