import { Ellipsis, type IconNode } from 'lucide';
import { t } from '../text/text';
import { Menu } from '../ui/menu';
import type { Right } from './rights';
import { guarded } from './why';

export interface RefusedOffer {
  rights: readonly Right[];
  label: string;
  icon: IconNode;
}

/** Menu beside a bar with the actions that the caller may not perform, greyed. Choosing one shows the reason. */
export function RefusedMenu({ of }: { of: readonly RefusedOffer[] }) {
  const items = of
    .map(({ rights, ...item }) => guarded(rights, { ...item, act: () => undefined }))
    .filter(({ isRefused }) => isRefused === true);
  return items.length > 0 && <Menu label={t('action.more')} icon={Ellipsis} items={items} kind="plain" />;
}
