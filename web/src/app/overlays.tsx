import { useSignal, useSignalEffect } from '@preact/signals';
import type { ComponentType } from 'preact';
import { overlay } from './keys';

interface OverlayProps {
  onClose: () => void;
}

const parts = {
  palette: async (): Promise<ComponentType<OverlayProps>> => (await import('./palette')).Palette,
  keys: async (): Promise<ComponentType<OverlayProps>> => (await import('./keys-help')).KeysHelp,
};

/** What a key calls, loaded when it is first called. */
export function Overlays() {
  const shown = useSignal<{ Part: ComponentType<OverlayProps>; wanted: typeof overlay.value } | undefined>(undefined);
  useSignalEffect(() => {
    const wanted = overlay.value;
    if (wanted === undefined) {
      shown.value = undefined;
      return;
    }
    parts[wanted]().then(
      (Part) => {
        if (overlay.peek() === wanted) shown.value = { Part, wanted };
      },
      () => {
        overlay.value = undefined;
      },
    );
  });
  if (shown.value === undefined) return null;
  const { Part, wanted } = shown.value;
  const close = () => {
    // A dialog says late that it was closed: another one may be open by then.
    if (overlay.peek() === wanted) overlay.value = undefined;
  };
  return <Part onClose={close} />;
}
