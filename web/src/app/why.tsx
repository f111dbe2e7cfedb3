import { signal } from '@preact/signals';
import { useLoad } from '../api/load';
import { viewed } from '../api/view';
import { t } from '../text/text';
import { Button } from '../ui/button';
import type { MenuItem } from '../ui/menu';
import { AskBeside, MenuAsk } from './ask';
import { openOverlay } from './keys';
import { explain, inWords, isRefusedByView, may, type Right } from './rights';

/** The missing right that the dialog explains. */
export const explained = signal<Right>();

/** Explains why an action is not allowed. */
export const askWhy = (right: Right): void => {
  explained.value = right;
  openOverlay('why');
};

/** Returns a menu item that is greyed without the rights, and then explains the reason. */
export const guarded = (rights: readonly Right[], item: MenuItem): MenuItem => {
  const missing = rights.find((right) => may(right) === false);
  if (missing === undefined) return item;
  const beside = (isOpen: boolean) => <MenuAsk right={missing} label={item.label} isOpen={isOpen} />;
  return { ...item, isRefused: true, isDanger: false, act: () => askWhy(missing), beside };
};

/** Shows the missing right, as RBAC names it, or that a view only reads. */
export const Needed = ({ right }: { right: Right }) =>
  isRefusedByView(right) ? (
    <span>{t('view.readsOnly', { user: viewed.value?.user ?? '' })}</span>
  ) : (
    <>
      {t('rights.needed')} <code>{inWords(right)}</code>
    </>
  );

/** Explains a missing right. A view that only reads needs no explanation by roles. */
export function useExplanation(right: Right | undefined) {
  const asked = right === undefined || isRefusedByView(right) ? undefined : right;
  return useLoad(asked && `why/${JSON.stringify(asked)}`, (stop) => explain(asked as Right, stop));
}

/** Button with the reason why something is missing, and with "Ask for it". */
export const WhyButton = ({ right, children = t('object.why') }: { right: Right; children?: string }) => (
  <AskBeside right={right}>
    <Button kind="quiet" onClick={() => askWhy(right)}>
      {children}
    </Button>
  </AskBeside>
);
