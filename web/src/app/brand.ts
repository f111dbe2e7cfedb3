/** Name and appearance of this installation: the remembered ones at once, and then those that the service reports. */
import { effect, signal } from '@preact/signals';
import { brandOf } from '../../../src/console/brand';
import { api, base, bodyOf, storageKey } from '../api/client';
import { untilDone } from '../api/outage';

const brandKey = storageKey('brand');

function kept(): Record<string, string> {
  try {
    const variables: unknown = JSON.parse(localStorage.getItem(brandKey) ?? '{}');
    return variables as Record<string, string>;
  } catch {
    return {};
  }
}

const brand = signal(brandOf(kept()));

export const brandTitle = (): string => brand.value.title ?? 'Atrium';

/** Returns undefined for Atrium's own logo. */
export const brandLogo = (): string | undefined => brand.value.logo && new URL(brand.value.logo.slice(1), base).href;

/** Sets the title of the page in the browser. */
export const setTitle = (title: string): void => {
  document.title = `${title} · ${brand.peek().title ?? 'Atrium'}`;
};

export function startBrand(): void {
  effect(() => {
    const { light, dark } = brand.value.accent;
    const { style } = document.documentElement;
    const set = (name: string, value: string | undefined) => (value ? style.setProperty(name, value) : style.removeProperty(name));
    set('--accent', (light || dark) && `light-dark(${light ?? '#1f5fd0'}, ${dark ?? '#7fb0ff'})`);
    set(
      '--accent-strong',
      (light || dark) &&
        `light-dark(color-mix(in srgb, ${light ?? '#1f5fd0'}, #000 15%), color-mix(in srgb, ${dark ?? '#7fb0ff'}, #fff 20%))`,
    );
  });
  void untilDone(() => bodyOf(api.GET('/api/v1/envs'))).then(
    (variables) => {
      const told = Object.fromEntries(Object.entries(variables).filter(([name]) => name.startsWith('brand.')));
      if (JSON.stringify(told) === JSON.stringify(kept())) return;
      localStorage.setItem(brandKey, JSON.stringify(told));
      brand.value = brandOf(told);
    },
    () => undefined,
  );
}
