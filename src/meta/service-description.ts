import type { ServiceDescription } from '@atrium/http/openapi/document.ts';

/** Words about the service in its OpenAPI document. */
export const serviceDescription: ServiceDescription = {
  title: 'Atrium',
  description:
    'The backend of a web console for Kubernetes. Errors are a Kubernetes Status. HEAD is answered as GET without the body, OPTIONS with the methods of the path; `pretty=true` indents any JSON; times are RFC 3339 in UTC.',
  license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
  tags: {
    login: 'Login and logout by OpenID Connect, and the identity of the caller.',
    sessions: 'Browser sessions: list and end them.',
    'access tokens': 'Access tokens for programs, which act as their owner.',
    users: 'The custom resource User: local users and users of a directory.',
    'second factors': 'Second factors of users at the embedded issuer.',
    'one-time links': 'Links with which users set their first password, or replace a forgotten one.',
    groups: 'Groups of users: defined by the issuer, or local.',
    userbindings: 'Roles of users and groups: UserBindings, from which the service creates role bindings.',
    'access requests': 'Temporary access: policies, requests and decisions.',
    'binding reviews': 'Reviews of bindings that hold for good, by their owners.',
    access: 'Access reviews: permissions of the caller, decided by the API server.',
    lists: 'Objects of the configured resources: filtered, sorted, counted and live.',
    usage: 'CPU and memory of pods, workloads, namespaces and nodes over time.',
    audit: 'Events of requests that changed something: their users, objects and outcomes.',
    search: 'Search for users, groups and objects by name, label and image.',
    kubernetes: 'The Kubernetes API itself, as the caller.',
    agents: 'Tools for agents, which act as a user with a part of their rights.',
    namespaces: 'Namespaces that the caller may do something in.',
    kubeconfig: 'Files that configure kubectl and other clients.',
    console: 'Configuration and files of the console.',
    plugins: 'Files and Services of console plugins.',
    discovery: 'Kubernetes API discovery, so that kubectl can be pointed here.',
    operations: 'Health, version, metrics and this description.',
  },
};
