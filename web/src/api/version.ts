import { signal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { api, bodyOf, type Schemas } from './client';
import { useLoad } from './load';
import { asProblem } from './problem';

type Version = Schemas['Version'];

let asked: Promise<Version> | undefined;

/** Reads what the service is, and which of its extensions are on: once for the page. 404 where the service does not tell. */
function fetchVersion(): Promise<Version> {
  asked ??= bodyOf(api.GET('/version')).catch((error: unknown) => {
    asked = undefined;
    throw error;
  });
  return asked;
}

export const useVersion = () => useLoad('version', fetchVersion);

const features = signal<Readonly<Record<string, boolean>>>({});
let isAsked = false;

async function askOnce(): Promise<void> {
  if (isAsked) return;
  isAsked = true;
  try {
    features.value = (await fetchVersion()).features;
  } catch (error) {
    isAsked = asProblem(error).status === 404;
  }
}

/** Whether an extension is on, by the name of its setting. Each is, as long as the service does not say otherwise. */
export function useFeatures(): (name: string) => boolean {
  useEffect(() => void askOnce(), []);
  return (name) => features.value[name] !== false;
}
