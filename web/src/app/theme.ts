import { effect, signal } from '@preact/signals';

const themeKey = 'atrium-theme';
const densityKey = 'atrium-density';

export const themes = ['system', 'light', 'dark'] as const;
export type Theme = (typeof themes)[number];

const isTheme = (text: string | null): text is Theme => themes.some((theme) => theme === text);

export const densities = ['compact', 'normal', 'touch'] as const;
type Density = (typeof densities)[number];

const isDensity = (text: string | null): text is Density => densities.some((density) => density === text);

const kept = localStorage.getItem(themeKey);
export const theme = signal<Theme>(isTheme(kept) ? kept : 'system');

const keptDensity = localStorage.getItem(densityKey);
const usualDensity: Density = matchMedia('(pointer: coarse)').matches ? 'touch' : 'normal';
/** Height of rows and controls: for touch on a touch screen, unless another one was chosen. */
export const density = signal<Density>(isDensity(keptDensity) ? keptDensity : usualDensity);

export function startTheme(): void {
  effect(() => {
    if (theme.value === 'system') localStorage.removeItem(themeKey);
    else localStorage.setItem(themeKey, theme.value);
    document.documentElement.dataset.theme = theme.value;
  });
  effect(() => {
    if (density.value === usualDensity) localStorage.removeItem(densityKey);
    else localStorage.setItem(densityKey, density.value);
    document.documentElement.dataset.density = density.value;
  });
}
