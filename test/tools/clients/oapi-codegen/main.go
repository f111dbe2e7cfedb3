// Code that a program would have with the client that oapi-codegen makes for Go: every field below is checked by the compiler.
package main

import (
	"context"
	"encoding/json"
	"log"
	"net/http"
	"net/url"
	"os"

	"atrium.example/clients/oapi/atrium"
)

func main() {
	ctx := context.Background()
	client, err := atrium.NewClientWithResponses(os.Getenv("ATRIUM_URL"), atrium.WithRequestEditorFn(
		func(_ context.Context, request *http.Request) error {
			request.Header.Set("Authorization", "Bearer "+os.Getenv("ATRIUM_TOKEN"))
			return nil
		}))
	check(err)

	login, err := client.HandleLoginV2WithResponse(ctx, nil)
	check(err)
	authURL, err := url.Parse(login.JSON200.AuthUrl)
	check(err)
	modules, err := client.HandleModulesWithResponse(ctx, nil)
	check(err)
	limit, order := 10, atrium.ListUsersParamsOrderAsc
	list, err := client.ListUsersWithResponse(ctx, &atrium.ListUsersParams{Limit: &limit, Order: &order})
	check(err)
	emails := []string{}
	administrators := []bool{}
	for _, user := range list.JSON200.Items {
		emails = append(emails, user.Spec.Email)
		administrators = append(administrators, user.Spec.IsAdmin)
	}
	user, err := client.GetUserWithResponse(ctx, os.Getenv("ATRIUM_USER"), nil)
	check(err)

	verb, group, resource := "list", "auth.platform.io", "users"
	attributes := atrium.ResourceAttributes{Verb: &verb, Group: &group, Resource: &resource}
	question := atrium.SelfSubjectAccessReviewRequest{Spec: &atrium.SelfSubjectAccessReviewSpec{ResourceAttributes: &attributes}}
	body := atrium.CreateSelfSubjectAccessReviewJSONRequestBody{}
	check(body.FromSelfSubjectAccessReviewRequest(question))
	answer, err := client.CreateSelfSubjectAccessReviewWithResponse(ctx, nil, body)
	check(err)
	review, err := answer.JSON201.AsSelfSubjectAccessReview()
	check(err)

	check(json.NewEncoder(os.Stdout).Encode(map[string]any{
		"authURL":        authURL.Path,
		"revision":       modules.JSON200.Underscore,
		"emails":         emails,
		"administrators": administrators,
		"total":          list.JSON200.Total,
		"created":        user.JSON200.Metadata.CreationTimestamp.UTC().Format("2006-01-02T15:04:05Z"),
		"phase":          user.JSON200.Status.Phase,
		"allowed":        review.Status.Allowed,
	}))
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
