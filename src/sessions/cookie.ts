import { randomBytes } from 'node:crypto';
import type { CookieNames } from '../http/cookies.ts';
import { type HostCookie, hostCookie } from '../http/host-cookie.ts';

/** The reference to a session that a browser keeps (docs/contract/login.md). It holds a secret and nothing else. */
export type SessionCookie = HostCookie;

/** 256 random bits, as base64url. */
export const newSecret = (): string => randomBytes(32).toString('base64url');

/** Whether a text may be what `newSecret` made. */
export const isSecret = (text: string): boolean => /^[A-Za-z0-9_-]{43}$/.test(text);

export const sessionCookie = (names: CookieNames): SessionCookie => hostCookie(names, { purpose: 'session' });
