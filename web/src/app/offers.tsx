import { Button, LinkButton } from '../ui/button';
import { RefusedMenu, type RefusedOffer } from './refused-menu';
import { may } from './rights';

interface Offer extends RefusedOffer {
  isMain?: boolean;
  /** A page, or what the button does. */
  to: string | (() => void);
}

export interface OffersProps {
  of: readonly Offer[];
}

/** Shows buttons for the actions that the caller may perform. The others are greyed in a menu beside them, which shows the reason. */
export const Offers = ({ of }: OffersProps) => (
  <>
    {of
      .filter(({ rights }) => rights.every((right) => may(right) === true))
      .map(({ label, icon, to, isMain }) =>
        typeof to === 'string' ? (
          <LinkButton key={label} icon={icon} kind={isMain ? 'main' : 'plain'} to={to}>
            {label}
          </LinkButton>
        ) : (
          <Button key={label} icon={icon} kind={isMain ? 'main' : 'plain'} onClick={to}>
            {label}
          </Button>
        ),
      )}
    <RefusedMenu of={of} />
  </>
);
