/** "Ask for it": the way from a greyed action to a request for access. The service says whether a policy lets the caller ask. */
import { signal, useSignal } from '@preact/signals';
import { KeyRound } from 'lucide';
import type { ComponentChildren } from 'preact';
import { api, bodyOf, type Schemas } from '../api/client';
import { useLoad } from '../api/load';
import { useFeature } from '../api/version';
import { viewed } from '../api/view';
import { t } from '../text/text';
import { Button, LinkButton } from '../ui/button';
import { openOverlay } from './keys';
import { inWords, type Right, withGroup } from './rights';
import { navigate } from './router';

export type AccessOption = Schemas['AccessOptions']['items'][number];

interface Wish {
  right: Right;
  /** At least one, the least rights first. */
  items: readonly AccessOption[];
}

/** The right for which the dialog asks. */
export const wish = signal<Wish | undefined>(undefined);

function open(next: Wish): void {
  wish.value = next;
  openOverlay('ask');
}

/** Returns undefined until the answer is known, without a right, in a view of another user, and where access requests are disabled. */
function useOptions(right: Right | undefined): Schemas['AccessOptions'] | undefined {
  const isOn = useFeature('accessRequests');
  const key = isOn && right && viewed.value === undefined ? `options/${JSON.stringify(right)}` : undefined;
  const load = useLoad(key, (stop) =>
    bodyOf(api.GET('/auth/v1/accessrequests/options', { params: { query: withGroup(right as Right) }, signal: stop })),
  );
  return load.data.value;
}

interface AskForProps {
  right: Right;
  /** Called before the dialog opens. */
  onOpen?: () => void;
}

/** Button that opens the dialog, or the way to the request that the caller has made. Absent if no policy lets the caller ask. */
export function AskFor({ right, onOpen }: AskForProps) {
  const { items = [], open: made = [] } = useOptions(right) ?? {};
  const [request] = made;
  // Break-glass may be used beside a request that waits.
  const isOffered = request === undefined ? items.length > 0 : items.some(({ breakGlass }) => breakGlass);
  return (
    <>
      {request && (
        <LinkButton kind="quiet" icon={KeyRound} to={`/requests/${request.name}`}>
          {t('ask.asked')}
        </LinkButton>
      )}
      {isOffered && (
        <Button
          kind="quiet"
          icon={KeyRound}
          onClick={() => {
            onOpen?.();
            open({ right, items });
          }}
        >
          {t('ask.it')}
        </Button>
      )}
    </>
  );
}

interface BesideProps {
  /** The missing right; undefined where the action is allowed. */
  right: Right | undefined;
  children: ComponentChildren;
}

/** Shows "Ask for it" beside a greyed button, from the first time that the pointer or the focus is on it. */
export function AskBeside({ right, children }: BesideProps) {
  const isWanted = useSignal(false);
  const want = () => {
    isWanted.value = true;
  };
  return (
    <span class="ask-beside" onPointerOver={want} onFocusIn={want}>
      {children}
      {right && isWanted.value && <AskFor key={inWords(right)} right={right} />}
    </span>
  );
}

interface MenuAskProps {
  right: Right;
  /** Text of the greyed item. */
  label: string;
  isOpen: boolean;
}

/** The same beside a greyed item of a menu, once it opens. Its place is kept, so that the menu does not move under the pointer. */
export function MenuAsk({ right, label, isOpen }: MenuAskProps) {
  const isOn = useFeature('accessRequests');
  const { items = [], open: made = [] } = useOptions(isOpen ? right : undefined) ?? {};
  if (!isOn) return null;
  const [request] = made;
  if (request === undefined && items.length === 0)
    return (
      <span class="ask kept" aria-hidden="true">
        {t('ask.it')}
      </span>
    );
  return (
    <button
      type="button"
      role="menuitem"
      tabIndex={-1}
      class="ask"
      aria-label={t(request ? 'ask.askedFor' : 'ask.itFor', { action: label })}
      onClick={({ currentTarget }) => {
        currentTarget.closest<HTMLElement>('[popover]')?.hidePopover();
        if (request) navigate(`/requests/${request.name}`);
        else open({ right, items });
      }}
    >
      {t(request ? 'ask.asked' : 'ask.it')}
    </button>
  );
}
