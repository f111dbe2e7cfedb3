import { useSignal, useSignalEffect } from '@preact/signals';
import type { ComponentType } from 'preact';
import { overlay } from '../app/keys';

interface OverlayProps {
  onClose: () => void;
}

const parts = {
  palette: async (): Promise<ComponentType<OverlayProps>> => (await import('./palette')).Palette,
  keys: async (): Promise<ComponentType<OverlayProps>> => (await import('./keys-help')).KeysHelp,
};

interface Shown {
  /** Another one each time: what was closed is made again, not opened again. */
  id: number;
  Part: ComponentType<OverlayProps>;
  isClosed: boolean;
}

let last = 0;

/** What a key calls, loaded when it is first called. */
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
    // A dialog says once more, and late, that it was closed: another one may be on its way by then.
    if (current.isClosed) return;
    current.isClosed = true;
    overlay.value = undefined;
  };
  return <current.Part key={current.id} onClose={close} />;
}
