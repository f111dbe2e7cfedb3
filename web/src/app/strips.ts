import { signal } from '@preact/signals';
import type { ComponentType } from 'preact';

/** Strips below the header, once there is one and they are loaded. */
export const strips = signal<ComponentType>();
