import { CircleAlert, CircleCheck } from 'lucide';
import { eventsPage, type Kind, pageOf } from '../../api/kinds';
import { type Load, refetch, useLoad } from '../../api/load';
import { getJson } from '../../api/objects';
import { usePoll } from '../../api/poll';
import { useFeatures } from '../../api/version';
import { viewed } from '../../api/view';
import { may, type Right, useRights } from '../../app/rights';
import { href } from '../../app/router';
import { count, type Key, t } from '../../text/text';
import { Icon } from '../../ui/icon';
import { countObjects, type Figure, failedBindings, readyNodes, warningGroups } from './figures';

interface Tile {
  id: 'nodes' | 'namespaces' | 'warnings' | 'failedBindings' | 'locked';
  right: Right;
  /** The setting `features.NAME` that must be on. */
  feature?: string;
  /** Absent for the figure of locked users, which the page has loaded. */
  read?: (kind: Kind | undefined, signal: AbortSignal) => Promise<Figure>;
  /** The list that shows the objects that were counted. */
  to: (kind: Kind | undefined) => string;
  isGood?: (figure: Figure) => boolean;
}

const ofCluster = (resource: string): Right => ({ verb: 'list', group: '', resource });
const pageOfKind = (kind: Kind | undefined) => (kind ? pageOf(kind) : '/kinds');
const readOf = (read: (kind: Kind, signal: AbortSignal) => Promise<Figure>) => (kind: Kind | undefined, signal: AbortSignal) =>
  read(kind as Kind, signal);
const isNone = ({ count: found }: Figure) => found === 0;

const tiles: readonly Tile[] = [
  { id: 'nodes', right: ofCluster('nodes'), read: readOf(readyNodes), to: pageOfKind, isGood: (figure) => figure.count === figure.of },
  { id: 'namespaces', right: ofCluster('namespaces'), read: readOf(countObjects), to: pageOfKind },
  {
    ...{ id: 'warnings', right: ofCluster('events'), read: readOf(warningGroups), isGood: isNone },
    to: () => `${eventsPage()}?type=Warning`,
  },
  {
    ...{ id: 'failedBindings', right: { verb: 'list', resource: 'userbindings' }, feature: 'userBindings', isGood: isNone },
    read: (_, signal) => failedBindings(signal),
    to: () => '/bindings?phase=Failed',
  },
  {
    ...{ id: 'locked', right: { verb: 'list', resource: 'users' }, isGood: isNone },
    to: () => '/users?phase=Locked',
  },
];

/** All figures of the page, and its table of workloads. */
const figures = { reload: () => refetch('overview/') };

/** Shows figures of the cluster and of its users, as far as the caller may list them. A view has no figures of the service's own lists. */
export function Tiles({ kinds, locked }: { kinds: readonly Kind[] | undefined; locked: Load<Figure> }) {
  useRights(tiles.map(({ right }) => right));
  const isOn = useFeatures();
  usePoll(figures);
  const shown = tiles.flatMap((tile) => {
    const kind = kinds?.find(({ group, resource }) => group === tile.right.group && resource === tile.right.resource);
    const isOfService = viewed.value === undefined && (tile.feature === undefined || isOn(tile.feature));
    const isThere = tile.right.group === undefined ? isOfService : kind !== undefined;
    return isThere && may(tile.right) ? [<TileOf key={tile.id} tile={tile} kind={kind} locked={locked} />] : [];
  });
  if (shown.length === 0 && kinds === undefined) return null;
  return (
    <ul class="figures" aria-label={t('overview.state')}>
      {kinds && <ClusterVersion />}
      {shown}
    </ul>
  );
}

const labels = {
  nodes: 'overview.nodes',
  namespaces: 'overview.namespaces',
  warnings: 'overview.warnings',
  failedBindings: 'overview.failedBindings',
  locked: 'overview.locked',
} satisfies Record<Tile['id'], Key>;

interface TileProps {
  tile: Tile;
  kind: Kind | undefined;
  locked: Load<Figure>;
}

function TileOf({ tile: { id, read, to, isGood }, kind, locked }: TileProps) {
  const own = useLoad(read && `overview/${id}`, (signal) => read?.(kind, signal) ?? Promise.reject(new Error(id)));
  const load = read ? own : locked;
  const figure = load.data.value;
  const isShaped = figure !== undefined && isGood !== undefined;
  // A figure of a part of a list is a lower bound.
  const shape = isShaped ? (!isGood(figure) ? 'warn' : figure.isPart ? '' : 'ok') : '';
  return (
    <li>
      <a class="figure" href={href(to(kind))}>
        <span class={`phase ${shape}`}>
          {shape !== '' && <Icon of={shape === 'ok' ? CircleCheck : CircleAlert} />}
          <strong>{wordsOf(load)}</strong>
        </span>
        <span class="muted">{t(labels[id])}</span>
        {load.error.value && <span class="wrong small">{load.error.value.message}</span>}
      </a>
    </li>
  );
}

/** A failure is no number: "not known" never looks like none. */
export function wordsOf(load: Load<Figure>): string {
  const figure = load.data.value;
  if (figure === undefined) return load.error.value ? t('overview.unknown') : '…';
  const numberOf = (value: number) => count(value) + (figure.isPart ? '+' : '');
  if (figure.of === undefined) return numberOf(figure.count);
  return t('overview.ofAll', { count: count(figure.count), all: numberOf(figure.of) });
}

function ClusterVersion() {
  const load = useLoad('cluster/version', (signal) => getJson<{ gitVersion: string }>('api/kubernetes/version', signal));
  const version = load.data.value?.gitVersion ?? (load.error.value ? t('overview.unknown') : '…');
  return (
    <li class="figure">
      {/* The build after the plus sign does not fit. */}
      <strong title={version}>{version.split('+')[0]}</strong>
      <span class="muted">Kubernetes</span>
    </li>
  );
}
