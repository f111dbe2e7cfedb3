import { Ellipsis } from 'lucide';
import { t } from '../text/text';
import { Button } from './button';
import { Menu, type MenuItem } from './menu';

const isButton = ({ isAtHand, isRefused }: MenuItem): boolean => isAtHand === true && isRefused !== true;

/** Actions on the object of a page. Actions at hand are buttons; the rest, and all that the caller may not perform, are in a menu. */
export function ActionBar({ items }: { items: readonly MenuItem[] }) {
  const others = items.filter((item) => !isButton(item));
  return (
    <>
      {items.filter(isButton).map(({ label, icon, act }) => (
        <Button key={label} {...(icon && { icon })} onClick={act}>
          {label}
        </Button>
      ))}
      {others.length > 0 && <Menu label={t('action.more')} icon={Ellipsis} items={others} kind="plain" />}
    </>
  );
}
