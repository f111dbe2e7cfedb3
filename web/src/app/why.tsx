import { signal } from '@preact/signals';
import { useLoad } from '../api/load';
import { viewed } from '../api/view';
import { t } from '../text/text';
import { Button } from '../ui/button';
import { Dialog } from '../ui/dialog';
import type { MenuItem } from '../ui/menu';
import { Skeleton } from '../ui/state';
import { AskBeside, AskFor, MenuAsk } from './ask';
import { explain, inWords, isRefusedByView, may, type Right } from './rights';

const asked = signal<Right>();

/** Explains why an action is not allowed. */
export const askWhy = (right: Right): void => {
  asked.value = right;
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

/** Dialog with the reason for which an action is greyed. */
export function Why() {
  const right = asked.value;
  const load = useExplanation(right);
  if (right === undefined) return null;
  const close = () => {
    asked.value = undefined;
  };
  const status = load.data.value;
  const roles = status?.explanation && 'roles' in status.explanation ? status.explanation.roles.map(({ name }) => name) : [];
  return (
    <Dialog title={t('why.title')} onClose={close}>
      <p>
        <Needed right={right} />
      </p>
      {isRefusedByView(right) ? null : status === undefined ? (
        <Skeleton rows={1} />
      ) : (
        <p class="muted">{roles.length > 0 ? t('rights.roles', { roles: roles.join(', ') }) : status.reason || t('rights.noRole')}</p>
      )}
      <div class="buttons">
        <AskFor right={right} onOpen={close} />
        <Button kind="main" onClick={close}>
          {t('action.close')}
        </Button>
      </div>
    </Dialog>
  );
}
