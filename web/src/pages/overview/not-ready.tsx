import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { api, bodyOf } from '../../api/client';
import { type Kind, pageOf } from '../../api/kinds';
import { type Load, useLoad } from '../../api/load';
import { inWords, may, type Right, useRights } from '../../app/rights';
import { href } from '../../app/router';
import { WhyButton } from '../../app/why';
import { count, loadTexts, t } from '../../text/text';
import { Button } from '../../ui/button';
import { Loaded } from '../../ui/loaded';
import { PlainTable } from '../../ui/plain-table';
import { type NotReady, notReady, type ReadWorkloads } from './figures';

const resources = ['deployments', 'statefulsets', 'daemonsets'];
/** Number of namespaces whose workloads are shown to a caller without a cluster-wide right. */
const maxNamespaces = 5;
const shownAtFirst = 8;

const listRight = (resource: string, namespace = ''): Right => ({ verb: 'list', group: 'apps', resource, ...(namespace && { namespace }) });

/** Workloads with fewer ready replicas than desired, in the whole cluster or in the namespaces of the caller. */
export function NotReadyWorkloads({ kinds, onShown }: Pick<InProps, 'kinds' | 'onShown'>) {
  const everywhere = listRight('deployments');
  useRights([everywhere]);
  const isWhole = may(everywhere);
  const own = useLoad(isWhole === false ? 'namespaces/deployments' : undefined, (signal) => {
    const query = { verb: 'list', resource: 'deployments', group: 'apps', limit: maxNamespaces };
    return bodyOf(api.GET('/auth/v1/namespaces', { params: { query }, signal }));
  });
  const places = isWhole ? [''] : (own.data.value?.items.map(({ metadata }) => metadata.name) ?? []);
  if (places.length === 0 && own.data.value) return <NoWorkloads />;
  if (places.length === 0) return own.error.value ? <Unknown load={own} /> : null;
  return <NotReadyIn kinds={kinds} places={places} onShown={onShown} hasMore={Boolean(own.data.value?.metadata.continue)} />;
}

/** Says that workloads could not be read. */
export const Unknown = ({ load }: { load: Load<unknown> }) => (
  <section class="card" aria-labelledby="not-ready-title">
    <h2 id="not-ready-title">{t('overview.notReady')}</h2>
    <Loaded load={load}>{() => null}</Loaded>
  </section>
);

/** Loaded only for users without workloads. */
function NoWorkloads() {
  const load = useLoad('part/no-workloads', async () => (await Promise.all([import('../access/no-workloads'), loadTexts('access')]))[0]);
  return load.data.value ? <load.data.value.NoWorkloads /> : null;
}

interface InProps {
  kinds: readonly Kind[];
  places: readonly string[];
  hasMore: boolean;
  /** Called once the workloads are shown. */
  onShown: () => void;
}

function NotReadyIn({ kinds, places, hasMore, onShown }: InProps) {
  const lists = places.flatMap((place) =>
    resources.flatMap((resource) => {
      const kind = kinds.find((one) => one.group === 'apps' && one.resource === resource && one.isPreferred);
      return kind ? [{ kind, place, right: listRight(resource, place) }] : [];
    }),
  );
  useRights(lists.map(({ right }) => right));
  const isKnown = lists.every(({ right }) => may(right) !== undefined);
  const allowed = lists.filter(({ right }) => may(right) === true);
  const key = allowed.map(({ right }) => inWords(right)).join();
  const load = useLoad(isKnown ? `overview/notReady/${key}` : undefined, async (signal) => {
    const answers = await Promise.all(allowed.map(({ kind, place }) => notReady(kind, place, signal)));
    const number = answers.reduce((sum, answer) => sum + answer.count, 0);
    return { rows: answers.flatMap(({ rows }) => rows), count: number, isPart: hasMore || answers.some(({ isPart }) => isPart) };
  });
  const isRead = load.data.value !== undefined;
  useEffect(() => {
    if (isRead) onShown();
  }, [isRead]);
  const missing = resources.filter((resource) => !lists.some(({ kind }) => kind.resource === resource));
  const isWhole = missing.length === 0 && allowed.length === lists.length;
  return (
    <section class="card" aria-labelledby="not-ready-title">
      <h2 id="not-ready-title">{t('overview.notReady')}</h2>
      {(allowed.length > 0 || !isKnown) && (
        <Loaded load={load}>
          {(read) => (read.rows.length === 0 ? <p>{noneText(read, isWhole)}</p> : <Rows rows={read.rows} isPart={read.isPart} />)}
        </Loaded>
      )}
      {missing.map((kind) => (
        <p key={kind} class="muted">
          {t('object.notServed', { kind })}
        </p>
      ))}
      {lists
        .filter(({ right }) => may(right) === false)
        .map(({ right }) => (
          <p key={inWords(right)} class="muted">
            {t('overview.mayNotList', { right: inWords(right) })} <WhyButton right={right}>{t('overview.why')}</WhyButton>
          </p>
        ))}
    </section>
  );
}

/** A list that is missing, cut or refused is no list without workloads. */
function noneText({ count: read, isPart }: ReadWorkloads, isWhole: boolean): string {
  if (isPart) return t(read === 0 ? 'overview.part' : 'overview.allReadyPart');
  if (isWhole) return t(read === 0 ? 'overview.noWorkloads' : 'overview.allReady');
  return t(read === 0 ? 'overview.noWorkloadsSeen' : 'overview.allReadySeen');
}

function Rows({ rows, isPart }: { rows: readonly NotReady[]; isPart: boolean }) {
  const isWhole = useSignal(false);
  const shown = isWhole.value ? rows : rows.slice(0, shownAtFirst);
  return (
    <>
      <PlainTable
        label={t('overview.notReady')}
        rows={shown}
        idOf={({ kind, namespace, name }) => `${kind.resource}/${namespace}/${name}`}
        columns={[
          {
            title: t('users.name'),
            cell: ({ kind, namespace, name }) => (
              <>
                <a href={href(pageOf(kind, { namespace, name }))}>{name}</a>
                <div class="muted small">
                  {kind.kind} · {namespace}
                </div>
              </>
            ),
          },
          {
            title: t('object.ready'),
            cell: ({ ready, isRollingOut }) => (
              <>
                {ready}
                {isRollingOut && <div class="muted small">{t('overview.rollingOut')}</div>}
              </>
            ),
          },
        ]}
      />
      {isPart && <p class="muted">{t('overview.part')}</p>}
      {shown.length < rows.length && (
        <div class="buttons">
          <Button
            onClick={() => {
              isWhole.value = true;
            }}
          >
            {t('overview.showAll', { count: rows.length, shown: count(rows.length) })}
          </Button>
        </div>
      )}
    </>
  );
}
