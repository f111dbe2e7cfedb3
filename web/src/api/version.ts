import { signal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { api, bodyOf, type Schemas } from './client';
import { useLoad } from './load';
import { untilDone } from './outage';
import { asProblem } from './problem';

type Version = Schemas['Version'];

let asked: Promise<Version> | undefined;

/** Loads the version of the service and its enabled extensions, once per page. 404 if the service does not report them. */
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
    features.value = (await untilDone(fetchVersion)).features;
  } catch (error) {
    isAsked = asProblem(error).isUnknownPath;
  }
}

/** Returns whether the service reports an extension as enabled, by the name of its setting. */
export function useFeature(name: string): boolean {
  useEffect(() => void askOnce(), []);
  return features.value[name] === true;
}

/**
 * Returns a function that reports whether an extension is enabled, by the name of its setting. Extensions are enabled unless the service
 * reports otherwise.
 */
export function useFeatures(): (name: string) => boolean {
  useEffect(() => void askOnce(), []);
  return (name) => features.value[name] !== false;
}
