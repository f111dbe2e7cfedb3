/** What the groups of operations are, in the order in which a reader meets them. */
export const tagDescriptions: Readonly<Record<string, string>> = {
  login: 'Logging in and out by OpenID Connect, and who the caller is.',
  sessions: 'Sessions: seeing and ending them.',
  'access tokens': 'Tokens for programs, which act as their owner.',
  users: 'The custom resource User: people who may log in, local or of a directory.',
  'second factors': 'What users prove beside the password at the embedded issuer.',
  groups: 'Groups of users: of the issuer, or kept here.',
  userbindings: 'Roles of users and groups, as UserBindings that become role bindings.',
  access: 'Access reviews: what the API server lets the caller do.',
  lists: 'Objects of the resources that the administrator names: filtered, sorted, counted, live.',
  kubernetes: 'The Kubernetes API itself, as the caller.',
  namespaces: 'Namespaces that the caller may do something in.',
  kubeconfig: 'Files that kubectl and other clients begin with.',
  console: 'What the page of the console is made of.',
  plugins: 'Files and Services of console plugins.',
  discovery: 'Kubernetes API discovery, so that kubectl can be pointed here.',
  operations: 'Health, version, metrics and this description.',
};
