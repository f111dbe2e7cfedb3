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

/** Buttons for all that the caller may do. The rest is greyed in a menu beside them, which says why. */
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
