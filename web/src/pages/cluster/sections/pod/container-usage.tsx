import type { ContainerSpec } from '@atrium/objects/pod-containers.ts';
import { quantityOf } from '@atrium/objects/quantity.ts';
import { t } from '../../../../text/text';
import { Facts } from '../../../../ui/facts';
import { quantity, titleOf } from '../../quantity';
import { type Amounts, type Measured, measured } from '../../usage-amounts';
import { UsageBar } from '../usage-bar';

interface ContainerUsageProps {
  spec: ContainerSpec;
  usage: Amounts;
}

/** Draws what a container uses against its limit, or against its request where it has no limit. */
export const UsageOfContainer = ({ spec, usage }: ContainerUsageProps) => (
  <Facts
    of={measured.map((resource) => [
      titleOf(resource),
      <ResourceUsage key={resource} spec={spec} resource={resource} value={usage[resource]} />,
    ])}
  />
);

interface ResourceProps {
  spec: ContainerSpec;
  resource: Measured;
  value: number;
}

type Resources = Readonly<Partial<Record<'requests' | 'limits', Readonly<Record<string, unknown>>>>>;

function ResourceUsage({ spec, resource, value }: ResourceProps) {
  const { limits = {}, requests = {} } = (spec.resources ?? {}) as Resources;
  const amountIn = (given: Readonly<Record<string, unknown>>) => quantityOf(String(given[resource] ?? ''));
  const [limit, request] = [amountIn(limits), amountIn(requests)];
  const shown = quantity(resource, value);
  if (limit) return <UsageBar label={t('usage.ofLimit', { value: shown, whole: quantity(resource, limit) })} value={value} of={limit} />;
  if (request)
    return (
      <UsageBar isSoft label={t('usage.ofRequest', { value: shown, whole: quantity(resource, request) })} value={value} of={request} />
    );
  return <span>{shown}</span>;
}
