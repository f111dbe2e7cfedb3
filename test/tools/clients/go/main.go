// Code that a program would have with the client that openapi-generator makes for Go: every field below is checked by the compiler.
package main

import (
	"context"
	"encoding/json"
	"log"
	"net/url"
	"os"

	atrium "atrium.example/clients/go"
)

func main() {
	configuration := atrium.NewConfiguration()
	configuration.Servers = atrium.ServerConfigurations{{URL: os.Getenv("ATRIUM_URL")}}
	client := atrium.NewAPIClient(configuration)
	ctx := context.WithValue(context.Background(), atrium.ContextAccessToken, os.Getenv("ATRIUM_TOKEN"))

	login, _, err := client.LoginAPI.HandleLoginV2(ctx).Execute()
	check(err)
	authURL, err := url.Parse(login.AuthUrl)
	check(err)
	modules, _, err := client.ConsoleAPI.HandleModules(ctx).Execute()
	check(err)
	list, _, err := client.UsersAPI.ListUsers(ctx).Limit(10).Order("asc").Execute()
	check(err)
	emails := []string{}
	administrators := []bool{}
	for _, user := range list.Items {
		emails = append(emails, user.Spec.Email)
		administrators = append(administrators, user.Spec.IsAdmin)
	}
	user, _, err := client.UsersAPI.GetUser(ctx, os.Getenv("ATRIUM_USER")).Execute()
	check(err)

	attributes := atrium.NewResourceAttributes()
	attributes.SetVerb("list")
	attributes.SetGroup("auth.platform.io")
	attributes.SetResource("users")
	spec := atrium.NewSelfSubjectAccessReviewSpec()
	spec.SetResourceAttributes(*attributes)
	question := atrium.NewSelfSubjectAccessReviewRequest()
	question.SetKind("SelfSubjectAccessReview")
	question.SetSpec(*spec)
	body := atrium.CreateSelfSubjectAccessReviewRequest{SelfSubjectAccessReviewRequest: question}
	review, _, err := client.AccessAPI.CreateSelfSubjectAccessReview(ctx).CreateSelfSubjectAccessReviewRequest(body).Execute()
	check(err)

	check(json.NewEncoder(os.Stdout).Encode(map[string]any{
		"authURL":        authURL.Path,
		"revision":       modules.Revision,
		"emails":         emails,
		"administrators": administrators,
		"total":          list.Total,
		"created":        user.Metadata.CreationTimestamp.UTC().Format("2006-01-02T15:04:05Z"),
		"phase":          user.Status.GetPhase(),
		"allowed":        review.SelfSubjectAccessReview.Status.Allowed,
	}))
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
