/** Usage of the whole cluster over time, on the overview. */
import { api, bodyOf } from '../../../../api/client';
import { may, useRights } from '../../../../app/rights';
import { t } from '../../../../text/text';
import { metricsRight } from './metrics-right';
import { UsageHistory } from './usage-history';

const right = metricsRight('list', 'nodes');

/** Renders nothing for a caller who may not read these metrics, like the figures of the overview. */
export function ClusterUsage() {
  useRights([right]);
  if (may(right) !== true) return null;
  return (
    <section class="card" aria-labelledby="cluster-usage">
      <h2 id="cluster-usage">{t('usage.overTime')}</h2>
      <UsageHistory
        id="nodes"
        fetch={(range, signal) => bodyOf(api.GET('/api/v2/usage/nodes', { params: { query: { range } }, signal }))}
        right={right}
      />
    </section>
  );
}
