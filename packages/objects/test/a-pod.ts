/** Pods for tests. */

export interface Given {
  deleted?: true;
  init?: object[];
  statuses?: object[];
  initStatuses?: object[];
  status?: object;
}

export const pod = ({ deleted, init = [], statuses = [], initStatuses = [], status = {} }: Given) => ({
  ...{ apiVersion: 'v1', kind: 'Pod' },
  metadata: { name: 'p', resourceVersion: '1', creationTimestamp: '', ...(deleted && { deletionTimestamp: '2026-01-01T00:00:00Z' }) },
  spec: { containers: [{ name: 'a' }, { name: 'b' }], initContainers: init },
  status: { phase: 'Running', containerStatuses: statuses, initContainerStatuses: initStatuses, ...status },
});
export const running = (name: string, more: object = {}) => ({ name, ready: true, state: { running: {} }, ...more });
export const waiting = (name: string, reason: string, more: object = {}) => ({ name, state: { waiting: { reason } }, ...more });
export const ended = (name: string, terminated: object) => ({ name, state: { terminated } });
