import { randomBytes } from 'node:crypto';
import { type CookieNames, type HostCookie, hostCookie } from '../cookies/cookies.ts';

/** Cookie of a session (docs/contract/login.md). The value is a secret, without further content. */
export type SessionCookie = HostCookie;

/** 256 random bits, as base64url. */
export const newSecret = (): string => randomBytes(32).toString('base64url');

/** Reports whether a text has the form of `newSecret`. */
export const isSecret = (text: string): boolean => /^[A-Za-z0-9_-]{43}$/.test(text);

export const sessionCookie = (names: CookieNames): SessionCookie => hostCookie(names, { purpose: 'session' });
