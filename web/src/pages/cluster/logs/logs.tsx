import { apiPath, type Kind } from '../../../api/kinds';
import type { ClusterObject } from '../../../api/objects';
import { Guarded } from '../../../app/guarded';
import { type Right, useRights } from '../../../app/rights';
import { ContainerChoice, chosenContainer } from '../containers';
import { logCommand } from '../kubectl';
import { tailLines } from './log-stream';
import { LogView } from './log-view';

interface LogsProps {
  kind: Kind;
  pod: ClusterObject;
}

/** The log of a container of a pod. */
export function Logs({ kind, pod }: LogsProps) {
  const { name, namespace } = pod.metadata;
  const right: Right = { verb: 'get', group: '', resource: 'pods', subresource: 'log', name, ...(namespace && { namespace }) };
  useRights([right]);
  return (
    <Guarded right={right}>
      <PodLog kind={kind} pod={pod} />
    </Guarded>
  );
}

function PodLog({ kind, pod }: LogsProps) {
  const { name, namespace } = pod.metadata;
  const container = chosenContainer(pod);
  const hasPrevious = (container?.restarts ?? 0) > 0;
  const target = {
    ...{ id: `${name}/${container?.name}`, name, container: container?.name, run: container?.run ?? '' },
    path: apiPath(kind, { name, namespace, subresource: 'log' }),
  };
  return (
    <LogView
      key={`${name}/${container?.name}`}
      label={container?.name ?? name}
      fileName={`${name}-${container?.name ?? ''}.log`}
      targets={[target]}
      hasPrevious={hasPrevious}
      filters={<ContainerChoice pod={pod} />}
      commandOf={(range) => logCommand({ ...range, namespace, pod: name, container: container?.name, tailLines, streams: 1 })}
    />
  );
}
