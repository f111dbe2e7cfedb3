import type { ClusterObject } from '../../api/objects';
import { query, setQuery } from '../../app/router';
import { t } from '../../text/text';

interface Container {
  name: string;
  /** How often it has ended and begun again. */
  restarts: number;
}

const named = (list: unknown): readonly { name: string; restartCount?: number }[] =>
  Array.isArray(list) ? list.filter((one): one is { name: string } => typeof (one as { name?: unknown })?.name === 'string') : [];

/** Of a pod: those that do its work first. */
function containersOf({ spec = {}, status = {} }: ClusterObject): readonly Container[] {
  const members = ['container', 'initContainer', 'ephemeralContainer'];
  const restarts = new Map(
    members.flatMap((member) => named(status[`${member}Statuses`])).map(({ name, restartCount = 0 }) => [name, restartCount] as const),
  );
  return members.flatMap((member) => named(spec[`${member}s`])).map(({ name }) => ({ name, restarts: restarts.get(name) ?? 0 }));
}

/** The one that the address names, else the first. */
export const chosenContainer = (pod: ClusterObject): Container | undefined => {
  const all = containersOf(pod);
  return all.find(({ name }) => name === query.value.get('container')) ?? all[0];
};

export function ContainerChoice({ pod }: { pod: ClusterObject }) {
  return (
    <label>
      <span class="hidden">{t('cluster.container')}</span>
      <select value={chosenContainer(pod)?.name} onChange={({ currentTarget }) => setQuery({ container: currentTarget.value })}>
        {containersOf(pod).map(({ name }) => (
          <option key={name} value={name}>
            {name}
          </option>
        ))}
      </select>
    </label>
  );
}
