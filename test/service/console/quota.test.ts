import { expect } from 'chai';
import { limitRows, quotaRows } from '../../../web/src/pages/cluster/sections/limits/quota.ts';

const object = (members: object) => ({
  ...{ apiVersion: 'v1', kind: 'ResourceQuota', metadata: { name: 'team', resourceVersion: '1', creationTimestamp: '' } },
  ...members,
});

describe('quotas and limits in the console', () => {
  it('compare quantities of different units', () => {
    const quota = object({
      spec: { hard: { 'requests.cpu': '1', memory: '1Gi' } },
      status: { used: { 'requests.cpu': '750m', memory: '512Mi' } },
    });
    expect(quotaRows(quota).map(({ resource, used, usedValue, hardValue }) => [resource, used, usedValue / hardValue])).to.deep.equal([
      ['memory', '512Mi', 0.5],
      ['requests.cpu', '750m', 0.75],
    ]);
  });

  it('distinguish an uncounted resource from zero', () => {
    const quota = object({ spec: { hard: { pods: '4', services: '2' } }, status: { used: { pods: '0' } } });
    expect(quotaRows(quota).map(({ used }) => used)).to.deep.equal(['0', undefined]);
  });

  it('have a row of limits for each type and resource', () => {
    const limits = [
      { type: 'Container', max: { cpu: '2' }, default: { cpu: '500m', memory: '1Gi' } },
      { type: 'PersistentVolumeClaim', min: { storage: '1Gi' } },
    ];
    expect(limitRows(object({ spec: { limits } }))).to.deep.equal([
      { type: 'Container', resource: 'cpu', max: '2', default: '500m' },
      { type: 'Container', resource: 'memory', default: '1Gi' },
      { type: 'PersistentVolumeClaim', resource: 'storage', min: '1Gi' },
    ]);
  });

  it('survive an object without figures', () => {
    expect([quotaRows(object({})), limitRows(object({}))]).to.deep.equal([[], []]);
  });
});
