/** Subresources of pods: logs, evictions and commands. */
import { badRequest, notImplemented } from '@atrium/objects/status.ts';
import { findObject, getObject } from '../backend.ts';
import { Component } from '../component.ts';
import { timestamp } from '../objects.ts';
import type { Backend, SubresourceAnswer, Target, Upgrade } from '../resources.ts';
import { evict } from './disruption.ts';
import { execute } from './exec.ts';
import { sendLog, streamLog } from './log.ts';
import { allContainers, collections, containerOf, type Pod } from './shapes.ts';

const core = { group: '', version: 'v1' };

/** A subresource that streams over a WebSocket and refuses other requests. */
const streamed = (name: string, kind: string, stream?: SubresourceAnswer['stream']): SubresourceAnswer => ({
  ...{ ...core, kind, verbs: ['create', 'get'], ...(stream && { stream }) },
  async answer() {
    throw notImplemented(stream ? `pods/${name} without a WebSocket` : `pods/${name}`);
  },
});

export const podSubresources: Readonly<Record<string, SubresourceAnswer>> = {
  log: { ...core, kind: 'Pod', verbs: ['get'], answer: sendLog, stream: streamLog },
  eviction: { kind: 'Eviction', group: 'policy', version: 'v1', verbs: ['create'], answer: evict },
  exec: streamed('exec', 'PodExecOptions', (upgrade, target) => streamCommand(upgrade, target, false)),
  attach: streamed('attach', 'PodAttachOptions', (upgrade, target) => streamCommand(upgrade, target, true)),
  portforward: streamed('portforward', 'PodPortForwardOptions'),
};

/** Runs a command, or attaches: the process of a toy container is a toy shell, too. */
async function streamCommand(upgrade: Upgrade, target: Target, isAttached: boolean): Promise<void> {
  const { backend, info } = upgrade;
  const pod = getObject(backend, target) as Pod;
  const { name, state } = containerOf(pod, info.query.get('container') ?? '');
  const container = allContainers(pod).find((one) => one.name === name);
  if (container === undefined || state.running === undefined) throw badRequest(`container ${name} is not running`);
  const isProcess = isAttached && pod.spec.ephemeralContainers?.includes(container);
  await execute(upgrade, pod, container, (code) => {
    if (isProcess) endEphemeral(backend, target, name, code);
  });
}

/** The shell that an attached caller leaves is the process of the ephemeral container. */
function endEphemeral(backend: Backend, target: Target, name: string, exitCode: number): void {
  const pod = findObject(backend, target) as Pod | undefined;
  const [finishedAt, reason] = [timestamp(backend.now()), exitCode === 0 ? 'Completed' : 'Error'];
  const ephemeralContainerStatuses = pod?.status.ephemeralContainerStatuses?.map((status) => {
    const { running } = status.state;
    if (status.name !== name || running === undefined) return status;
    return { ...status, state: { terminated: { exitCode, reason, startedAt: running.startedAt, finishedAt } } };
  });
  if (pod) new Component(backend, 'kubelet').setStatus(collections.pods, pod, { ...pod.status, ephemeralContainerStatuses });
}
