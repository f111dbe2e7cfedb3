import { useSignal } from '@preact/signals';
import { api, bodyOf } from '../../api/client';
import { type Kind, pageOf } from '../../api/kinds';
import { useLoad } from '../../api/load';
import { inWords, may, type Right, useRights } from '../../app/rights';
import { href } from '../../app/router';
import { WhyButton } from '../../app/why';
import { count, loadTexts, t } from '../../text/text';
import { Button } from '../../ui/button';
import { Loaded } from '../../ui/loaded';
import { PlainTable } from '../../ui/plain-table';
import { type NotReady, notReady } from './figures';

const resources = ['deployments', 'statefulsets', 'daemonsets'];
/** Number of namespaces whose workloads are shown to a caller without a cluster-wide right. */
const maxNamespaces = 5;
const shownAtFirst = 8;

const listRight = (resource: string, namespace = ''): Right => ({ verb: 'list', group: 'apps', resource, ...(namespace && { namespace }) });

/** Workloads with fewer ready replicas than desired, in the whole cluster or in the namespaces of the caller. */
export function NotReadyWorkloads({ kinds }: { kinds: readonly Kind[] }) {
  const everywhere = listRight('deployments');
  useRights([everywhere]);
  const isWhole = may(everywhere);
  const own = useLoad(isWhole === false ? 'namespaces/deployments' : undefined, (signal) => {
    const query = { verb: 'list', resource: 'deployments', group: 'apps', limit: maxNamespaces };
    return bodyOf(api.GET('/auth/v1/namespaces', { params: { query }, signal }));
  });
  const places = isWhole ? [''] : (own.data.value?.items.map(({ metadata }) => metadata.name) ?? []);
  if (places.length === 0) return own.data.value ? <NoWorkloads /> : null;
  return <NotReadyIn kinds={kinds} places={places} hasMore={Boolean(own.data.value?.metadata.continue)} />;
}

/** Loaded only for users without workloads. */
function NoWorkloads() {
  const load = useLoad('part/no-workloads', async () => (await Promise.all([import('../access/no-workloads'), loadTexts('access')]))[0]);
  return load.data.value ? <load.data.value.NoWorkloads /> : null;
}

interface InProps {
  kinds: readonly Kind[];
  places: readonly string[];
  hasMore: boolean;
}

function NotReadyIn({ kinds, places, hasMore }: InProps) {
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
    return { rows: answers.flatMap(({ rows }) => rows), isPart: hasMore || answers.some(({ isPart }) => isPart) };
  });
  return (
    <section class="card" aria-labelledby="not-ready-title">
      <h2 id="not-ready-title">{t('overview.notReady')}</h2>
      <Loaded load={load}>{({ rows, isPart }) => <Rows rows={rows} isPart={isPart} />}</Loaded>
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

function Rows({ rows, isPart }: { rows: readonly NotReady[]; isPart: boolean }) {
  const isWhole = useSignal(false);
  const shown = isWhole.value ? rows : rows.slice(0, shownAtFirst);
  return (
    <>
      {rows.length === 0 ? (
        <p>{t(isPart ? 'overview.allReadyPart' : 'overview.allReady')}</p>
      ) : (
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
      )}
      {rows.length > 0 && isPart && <p class="muted">{t('overview.part')}</p>}
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
