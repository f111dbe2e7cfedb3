/** Values that the attacker writes. */

import { nameOf } from '../../service/users/a-user.ts';
import { clusterRoleBinding } from '../../support/grants.ts';
import { administrators, attacker, attackersPassword, ghosts, honest, honestPassword, markerOf } from './people.ts';

export const emails = [...honest.map(({ email }) => email), ...ghosts, attacker, 'mallory@example.com', 'new@example.com'];
export const passwords = [attackersPassword, 'also known to the attacker'];
export const neverRight = [honestPassword.toUpperCase(), ''];

/** Addresses of users that an honest administrator restores. */
export const restored = honest.map(({ email }) => email).filter((email) => !administrators.includes(nameOf(email)));
export const withoutRights = ['ord@example.com', 'new@example.com', 'mallory@example.com'];
/** Addresses of users that the role gives the most rights over. */
export const unbound = [...withoutRights, 'lou@example.com', 'una@example.com', 'ivy@example.com', 'gil@example.com'];
/** Record names that the naming rule gives to no address. */
export const strays = ['stray', 'nova', 'alice', 'second'];
/** Subjects of the attacker at the issuer. */
export const bySub = ['mallory-sub', 'mallory-2-sub'];

export const mergePatch = 'application/merge-patch+json';
export const patchTypes = [mergePatch, 'application/json', 'application/strategic-merge-patch+json'];

const ours = (name: string) => `auth.platform.io/${name}`;
const names = [
  'user.email',
  'user.username',
  'user.connector_id',
  'user.connector_type',
  'user.state',
  'user.valid',
  'userbinding',
  'user',
];
const notes = ['unfinished', 'created-by', 'userbinding', 'group', 'user'];
const values = ['', 'login', 'true', 'false', nameOf('vic@example.com')];

type Patch = Record<string, unknown>;

/** Members of `metadata`, for a new object or as a merge patch. */
export const metadata: readonly Patch[] = [
  ...names.flatMap((name) => values.map((value) => ({ labels: { [ours(name)]: value } }))),
  ...notes.flatMap((name) => values.map((value) => ({ annotations: { [ours(name)]: value } }))),
  { finalizers: ['auth.platform.io/user', 'example.com/other'] },
  { finalizers: ['example.com/other'] },
  ...honest.map(({ email }) => ({ ownerReferences: [owner(email)] })),
  { ownerReferences: [owner('new@example.com')] },
  { ownerReferences: [owner('mallory@example.com')] },
  { ownerReferences: [{ apiVersion: 'auth.platform.io/v1', kind: 'User', name: 'nothing', uid: 'nothing' }] },
];

/** Metadata that marked an unfinished record in earlier versions, or might do so. */
export const marks: readonly Patch[] = ['unfinished', 'unfinished-since', 'created-by'].flatMap((name) => [
  { labels: { [ours(name)]: 'true' } },
  ...['', 'login', '2020-01-01T00:00:00Z'].map((value) => ({ annotations: { [ours(name)]: value } })),
]);

/** Merge patches that remove metadata. */
export const removals: readonly Patch[] = [
  { labels: null },
  { annotations: null },
  { finalizers: null },
  { finalizers: [] },
  { ownerReferences: null },
];

function owner(email: string): Patch {
  return { apiVersion: 'auth.platform.io/v1', kind: 'User', name: nameOf(email), uid: `$uid(${nameOf(email)})` };
}

const local = { connector_type: 'local', connector_id: 'local', connector_name: 'Local' };
const none = { connector_type: '', connector_id: '', connector_name: '' };
const directory = { connector_type: 'ldap', connector_id: 'corp-ldap', connector_name: 'Corporate' };
export const sources: readonly Patch[] = [local, local, local, none, none, directory];

/** Members of the spec of a User. */
export const specs: readonly Patch[] = [
  { username: 'root' },
  { username: 'chief@example.com' },
  { account: 'chief@example.com' },
  { mail: 'chief@example.com' },
  { mobile: '123' },
  { ids: [{ type: 'corp-ldap', id: 'chief' }] },
  { ids: [{ type: 'local', id: nameOf('vic@example.com') }] },
  { extra: { subjectName: 'chief@example.com', groups: ['dev'] } },
  { is_admin: true },
  { is_admin: false },
  { valid: false },
  { valid: true },
  { is_disabled: true },
  { is_disabled: true, state: 'inactive' },
  { is_disabled: false },
  { state: 'inactive' },
  { state: 'active' },
  { expired: { end: '2020-01-01T00:00:00Z' } },
  { expired: { begin: '2020-01-01T00:00:00Z', end: '2099-01-01T00:00:00Z' } },
  { expired: null },
  { groups: ['dev', 'local:crew'] },
  { email: 'chief@example.com' },
  ...sources,
];

/** Status fields that the role may not write. */
export const statuses: readonly Patch[] = [
  { subjectName: 'vic@example.com' },
  { subjectName: null },
  { groups: ['dev', 'local:crew', 'system:masters'] },
  { phase: 'Normal' },
  { mustChangePassword: false },
  { unfinishedSince: '2020-01-01T00:00:00Z' },
  { subjects: [{ issuer: 'https://issuer.example.com', sub: 'mallory-sub' }] },
  { sessionsNotBefore: null },
];

export const groupNames = ['crew', 'team', 'local:crew', 'dev', 'fresh'];
export const bindingNames = ['binding-of-una', 'binding-of-ivy', 'binding-of-nova', 'fresh'];
export const roles = ['cluster-admin', 'view', 'atrium-users-admin', ...['una', 'ivy', 'nova', 'vic', 'lou'].map(markerOf)];

/** Requests that the role does not allow. */
export const forbidden: readonly { method: string; path: string; body?: unknown }[] = [
  { method: 'GET', path: '/api/v1/namespaces/atrium-system/secrets' },
  { method: 'GET', path: '/api/v1/namespaces/kube-system/secrets' },
  {
    method: 'POST',
    path: '/api/v1/namespaces/atrium-system/secrets',
    body: {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: `user-password-${nameOf('ghost@example.com')}` },
      type: 'auth.platform.io/password',
    },
  },
  {
    method: 'POST',
    path: '/api/v1/namespaces/atrium-system/configmaps',
    body: { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'hostile', labels: { 'console.platform.io/public': 'true' } } },
  },
  {
    method: 'POST',
    path: '/apis/auth.platform.io/v1/accesstokens',
    body: {
      apiVersion: 'auth.platform.io/v1',
      kind: 'AccessToken',
      metadata: { name: 'hostile' },
      spec: { owner: nameOf('vic@example.com'), description: 'x', tokenHash: 'a'.repeat(64), issuedAt: '2026-01-01T00:00:00Z' },
    },
  },
  {
    method: 'POST',
    path: '/apis/auth.platform.io/v1/revokedtokens',
    body: {
      apiVersion: 'auth.platform.io/v1',
      kind: 'RevokedToken',
      metadata: { name: `rt-${'a'.repeat(40)}` },
      spec: { kind: 'Bearer', expiration: '2099-01-01T00:00:00Z' },
    },
  },
  {
    method: 'POST',
    path: '/apis/auth.platform.io/v1/namespaces/atrium-system/sessions',
    body: {
      apiVersion: 'auth.platform.io/v1',
      kind: 'Session',
      metadata: { name: `s-${'a'.repeat(64)}` },
      spec: { user: nameOf('vic@example.com'), sealed: 'x', createdAt: '2026-01-01T00:00:00Z', expiration: '2099-01-01T00:00:00Z' },
    },
  },
  { method: 'GET', path: '/apis/auth.platform.io/v1/namespaces/atrium-system/identityrecords' },
  {
    method: 'POST',
    path: '/apis/rbac.authorization.k8s.io/v1/clusterrolebindings',
    body: clusterRoleBinding('hostile', 'cluster-admin', { kind: 'User', name: attacker }),
  },
  {
    method: 'POST',
    path: '/api/v1/namespaces/atrium-system/serviceaccounts/atrium/token',
    body: { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: {} },
  },
  { method: 'DELETE', path: '/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies/users.auth.platform.io' },
  { method: 'DELETE', path: '/apis/apiextensions.k8s.io/v1/customresourcedefinitions/users.auth.platform.io' },
];
