import { signal } from '@preact/signals';
import { CircleAlert, CircleCheck, Clock, X } from 'lucide';
import { t } from '../text/text';
import { Button } from './button';
import { Icon } from './icon';

/** Button beside the text of a toast. */
interface Offer {
  label: string;
  act: () => void;
  /** Keeps the toast until it is dismissed. */
  stays?: boolean;
}

interface Toast {
  id: number;
  /** `info`: the cluster has accepted the change, and controllers still work on it. */
  kind: 'ok' | 'info' | 'bad';
  text: string;
  offer?: Offer | undefined;
  about?: string | undefined;
}

const toasts = signal<readonly Toast[]>([]);
/** Messages of this visit, the newest first. */
export const messages = signal<readonly (Pick<Toast, 'id' | 'kind' | 'text'> & { time: string })[]>([]);
const mostMessages = 50;
/** Time for which a user who is present sees a toast. */
const shownMs = 8000;
export const icons = { ok: CircleCheck, info: Clock, bad: CircleAlert } as const;
const signs = ['pointermove', 'pointerdown', 'keydown'] as const;
let last = 0;

export const forgetMessages = (): void => {
  messages.value = [];
};

const dismiss = (id: number) => {
  toasts.value = toasts.value.filter((toast) => toast.id !== id);
};

/** Runs after the next input: until then the user may look elsewhere or be in another tab, and has not read the toast. */
function whenThere(then: () => void): void {
  const stop = new AbortController();
  const begin = () => {
    stop.abort();
    then();
  };
  for (const sign of signs) addEventListener(sign, begin, { capture: true, signal: stop.signal });
}

/**
 * Shows a toast. A failure stays until it is dismissed.
 *
 * @param about uid of the object whose state it tells; replaces the toast with the state before
 */
export function toast(kind: Toast['kind'], text: string, offer?: Offer, about?: string): void {
  last += 1;
  const id = last;
  const others = toasts.value.filter((one) => about === undefined || one.about !== about);
  toasts.value = [...others.slice(-3), { id, kind, text, offer, about }];
  messages.value = [{ id, kind, text, time: new Date().toISOString() }, ...messages.value.slice(0, mostMessages - 1)];
  if (kind !== 'bad' && !offer?.stays) whenThere(() => setTimeout(() => dismiss(id), shownMs));
}

export function Toasts() {
  return (
    <div class="toasts" role="log" aria-live="polite" aria-label={t('shell.messages')}>
      {toasts.value.map(({ id, kind, text, offer }) => (
        <div key={id} class={`toast ${kind}`}>
          <Icon of={icons[kind]} />
          <p>{text}</p>
          {offer && (
            <Button
              kind="quiet"
              onClick={() => {
                dismiss(id);
                offer.act();
              }}
            >
              {offer.label}
            </Button>
          )}
          <Button kind="quiet" icon={X} label={t('action.dismiss')} onClick={() => dismiss(id)} />
        </div>
      ))}
    </div>
  );
}
