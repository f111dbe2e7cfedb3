import { api, bodyOf } from './client';
import { useLoad } from './load';

/** What the service is, and which of its extensions are on. 404 where the service does not tell. */
export const useVersion = () => useLoad('version', (signal) => bodyOf(api.GET('/version', { signal })));

/** Whether an extension is on, by the name of its setting. Each is, as long as the service does not say otherwise. */
export function useFeatures(): (name: string) => boolean {
  const features = useVersion().data.value?.features;
  return (name) => features?.[name] !== false;
}
