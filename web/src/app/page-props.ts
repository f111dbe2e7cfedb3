/** Properties that the route gives to each page: the parts of the path behind colons. */
export interface PageProps {
  params: Readonly<Record<string, string>>;
}
