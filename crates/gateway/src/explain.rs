//! What profiles and rules decide about a call, and why.

use serde_json::{Map, Value, json};
use toolbay_host::{CatalogKind, ServerName, slugs};
use toolbay_policy::{Explanation, Subject, ToolIdentity};
use toolbay_protocol::{Tier, decode_string, model::Tool};

use crate::gateway::Gateway;

/// A call to explain.
#[derive(Debug, Clone, Copy)]
pub struct ExplainedCall<'a> {
    /// Who calls.
    pub principal: &'a str,
    /// With which profile.
    pub profile: Option<&'a str>,
    /// The name of the tool, as clients call it.
    pub tool: &'a str,
    /// The arguments, as JSON text.
    pub arguments: &'a str,
}

impl Gateway {
    /// Says what would happen to a call, and why. Nothing is called or counted; the rights of tokens are not considered.
    ///
    /// # Errors
    ///
    /// A message, if there is no such tool or profile, or the arguments are no JSON object.
    pub fn explain_call(&self, call: ExplainedCall<'_>) -> Result<Value, String> {
        let ExplainedCall { principal, profile, tool, arguments } = call;
        serde_json::from_str::<Map<String, Value>>(arguments)
            .map_err(|error| format!("the arguments are no JSON object: {error}"))?;
        let set = self.views.policy();
        let known_profile = match profile {
            Some(name) => {
                Some(set.profile(name).cloned().ok_or_else(|| format!("there is no profile `{name}`"))?)
            }
            None => None,
        };
        let found = self.tool_called(tool).ok_or_else(|| format!("no server offers the tool `{tool}`"))?;
        let identity = ToolIdentity {
            server: found.server.as_str(),
            name: &found.name,
            qualified: &found.qualified,
            exposed: tool,
            tier: found.tier,
        };
        let explanation =
            set.rules().explain(&Subject { principal, profile }, &identity, arguments.as_bytes());
        let in_profile = known_profile
            .is_none_or(|profile| profile.has_server(found.server.as_str()) && profile.has_tool(&identity));
        Ok(described(&identity, &explanation, in_profile))
    }

    /// The tool that clients call so, whether or not they see it.
    fn tool_called(&self, name: &str) -> Option<CalledTool> {
        let table = self.host.table();
        let route = table.tool(name)?;
        let own_name = match &route.renamed {
            Some(raw) => decode_string(raw)?.into_owned(),
            None => name.to_owned(),
        };
        let server = route.server.name().clone();
        let names: Vec<ServerName> = self.host.servers().iter().map(|server| server.name().clone()).collect();
        let slug = slugs(&names).into_iter().zip(&names).find(|(_, name)| **name == server)?.0;
        let catalog = route.server.status().borrow().catalog.clone();
        let mut tools =
            catalog.list(CatalogKind::Tools).iter().filter_map(|text| Tool::parse(text.clone()).ok());
        let tier = tools.find(|tool| tool.name() == own_name).map(|tool| Tier::of(&tool)).unwrap_or_default();
        Some(CalledTool { qualified: format!("{slug}__{own_name}"), server, name: own_name, tier })
    }
}

struct CalledTool {
    server: ServerName,
    name: String,
    qualified: String,
    tier: Tier,
}

fn described(tool: &ToolIdentity<'_>, explanation: &Explanation, in_profile: bool) -> Value {
    let passed = explanation.passed.iter();
    let passed: Vec<Value> =
        passed.map(|(rule, why)| json!({ "rule": *rule.name, "why": why.to_string() })).collect();
    let rule = explanation.rule.as_ref();
    json!({
        "server": tool.server,
        "tool": tool.name,
        "tier": tool.tier.as_str(),
        "decision": match in_profile {
            true => explanation.action().to_string(),
            false => "deny".to_owned(),
        },
        "in_profile": in_profile,
        "hidden": !in_profile || explanation.is_hidden,
        "rule": rule.map(|rule| &*rule.name),
        "reason": rule.and_then(|rule| rule.reason.as_deref()),
        "unclear": explanation.unclear.as_ref().map(ToString::to_string),
        "passed": passed,
    })
}
