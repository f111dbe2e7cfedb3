import { expect } from 'chai';
import { describe, it } from 'mocha';
import { knownColumns } from '../../../src/lists/known-columns.ts';

const valuesOf = (group: string, resource: string, status: object) => {
  const metadata = { name: 'one', uid: 'u', resourceVersion: '1', creationTimestamp: '2026-01-12T08:30:00Z' };
  const columns = knownColumns({ group, version: 'v1', resource });
  return Object.fromEntries(columns.map(({ name, read }) => [name, read({ metadata, spec: {}, status })]));
};

describe('columns of workloads', () => {
  it('are 0 where the API server leaves out a number of replicas or pods', () => {
    expect(valuesOf('apps', 'deployments', {})).to.include({ ready: 0, updated: 0, available: 0 });
    expect(valuesOf('apps', 'deployments', { readyReplicas: 2 })).to.include({ ready: 2, available: 0 });
    expect(valuesOf('apps', 'statefulsets', {})).to.include({ ready: 0, updated: 0 });
    expect(valuesOf('batch', 'jobs', {})).to.include({ succeeded: 0, completions: null });
  });
});
