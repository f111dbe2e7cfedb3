import { effect, signal } from '@preact/signals';

const themeKey = 'atrium-theme';

export const themes = ['system', 'light', 'dark'] as const;
export type Theme = (typeof themes)[number];

const isTheme = (text: string | null): text is Theme => themes.some((theme) => theme === text);

const kept = localStorage.getItem(themeKey);
export const theme = signal<Theme>(isTheme(kept) ? kept : 'system');

export function startTheme(): void {
  effect(() => {
    if (theme.value === 'system') localStorage.removeItem(themeKey);
    else localStorage.setItem(themeKey, theme.value);
    document.documentElement.dataset.theme = theme.value;
  });
}
