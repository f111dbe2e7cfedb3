import { useSignal, useSignalEffect } from '@preact/signals';
import type { ComponentType } from 'preact';
import { overlay } from '../app/keys';
import { loadTexts } from '../text/text';

interface OverlayProps {
  onClose: () => void;
}

const parts = {
  palette: async (): Promise<ComponentType<OverlayProps>> => (await import('./palette')).Palette,
  keys: async (): Promise<ComponentType<OverlayProps>> => (await import('./keys-help')).KeysHelp,
  ask: async (): Promise<ComponentType<OverlayProps>> =>
    (await Promise.all([import('../pages/access/ask-dialog'), loadTexts('access')]))[0].AskDialog,
};

interface Shown {
  /** Differs for each opening: an overlay that was closed is mounted again, not reopened. */
  id: number;
  Part: ComponentType<OverlayProps>;
  isClosed: boolean;
}

let last = 0;

/** Shows the overlay that a key has opened. Its code is loaded at first use. */
export function Overlays() {
  const shown = useSignal<Shown | undefined>(undefined);
  useSignalEffect(() => {
    const wanted = overlay.value;
    if (wanted === undefined) {
      shown.value = undefined;
      return;
    }
    parts[wanted]().then(
      (Part) => {
        last += 1;
        if (overlay.peek() === wanted) shown.value = { id: last, Part, isClosed: false };
      },
      () => {
        overlay.value = undefined;
      },
    );
  });
  const current = shown.value;
  if (current === undefined) return null;
  const close = () => {
    // The dialog reports its closing a second time, and late: another overlay may be loading by then.
    if (current.isClosed) return;
    current.isClosed = true;
    overlay.value = undefined;
  };
  return <current.Part key={current.id} onClose={close} />;
}
