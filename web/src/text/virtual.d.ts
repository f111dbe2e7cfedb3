/** Made by the build out of the files of this folder: `scripts/text-packs.ts`. */
declare module 'virtual:texts' {
  type Words = Readonly<Record<string, string>>;
  export type Pack = 'first' | 'overlays' | 'plugins' | 'overview' | 'people' | 'access' | 'activity' | 'usage' | 'cluster' | 'object';
  /** English words of the first page. */
  export const first: Words;
  export const packs: Readonly<Record<'en' | 'de' | 'zh', Readonly<Record<Pack, () => Promise<{ default: Words }>>>>>;
}
