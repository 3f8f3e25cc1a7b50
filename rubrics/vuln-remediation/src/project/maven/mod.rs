//! Maven: one `pom.xml`.
//!
//! There is no lock file: what is built follows from the manifest and what the artifacts themselves depend on. Parents and
//! bills of materials come from the registry excerpt. Conflicts end as Maven ends them: the own `dependencyManagement`
//! decides for transitive dependencies, else the definition nearest to the root, else the first.

mod model;
mod resolve;
mod xml;

use std::collections::BTreeSet;
use std::rc::Rc;

use self::model::Model;
use super::{Package, Project, ProjectError, required};
use crate::registry::Registry;
use crate::tree::Tree;
use crate::version::{Ecosystem, Version};

const POM: &str = "pom.xml";

/// What is wrong with a text that should be XML.
pub(super) fn xml_problem(text: &str) -> Option<String> {
    xml::parse(text).err()
}

pub(super) fn read(tree: &Tree, registry: &Registry) -> Result<Project, ProjectError> {
    let root = xml::parse(required(tree, POM)?).map_err(|what| ProjectError::unreadable(POM, what))?;
    let model = Model::read(&root).map_err(|what| ProjectError::unreadable(POM, what))?;
    let mut project = Project::default();
    project.files.insert(POM.to_owned());
    let effective = resolve::effective(&model, registry, &mut project);
    list_requests(&model, &effective, &mut project);
    for (name, text) in resolve::resolve(&model, &effective, registry, &mut project) {
        match Version::parse(Ecosystem::Maven, &text) {
            Ok(version) => {
                let (features, checksums, origins) = (BTreeSet::new(), Vec::new(), BTreeSet::new());
                project.packages.push(Rc::new(Package { name, version, features, checksums, origins }));
            }
            Err(_) => project.invalid(format!("`{text}` is no version of `{name}`")),
        }
    }
    project.remainder.insert(POM.to_owned(), model.remainder(&effective.inherited_properties));
    Ok(project)
}

fn list_requests(model: &Model, effective: &resolve::Effective, project: &mut Project) {
    if let Some(parent) = &model.parent {
        project.request("parent".to_owned(), &parent.name, &parent.version, "");
    }
    for (section, dependencies) in [("dependencies", &model.dependencies), ("dependencyManagement", &model.managed)] {
        for dependency in dependencies {
            let version = dependency.version.as_deref().map(|text| effective.interpolate(text)).unwrap_or_default();
            project.request(
                format!("{section}/{}", dependency.key()),
                &dependency.name,
                &version,
                &dependency.options(),
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Problem;
    use super::*;

    fn registry() -> Registry {
        serde_json::from_str(
            r#"{"ecosystem":"Maven","taken_at":"2022-12-20","packages":{
                "com.acme:parent":{"2.6.5":{"properties":{"yaml.version":"1.29"},
                    "managed":[{"name":"org.yaml:snakeyaml","requirement":"${yaml.version}"}],
                    "parent":"com.acme:grandparent:1"}},
                "com.acme:grandparent":{"1":{"managed":[{"name":"junit:junit","requirement":"4.13"}]}},
                "com.acme:bom":{"7":{"properties":{"yaml.version":"1.33"},
                    "managed":[{"name":"org.yaml:snakeyaml","requirement":"${yaml.version}"}]}},
                "com.acme:web":{"2.6.5":{"dependencies":[
                    {"name":"org.yaml:snakeyaml","requirement":"1.30","scope":"compile"},
                    {"name":"com.acme:core","requirement":"2.6.5"},
                    {"name":"com.acme:testkit","requirement":"1","scope":"test"},
                    {"name":"com.acme:extra","requirement":"1","optional":true}]}},
                "com.acme:core":{"2.6.5":{"dependencies":[{"name":"org.yaml:snakeyaml","requirement":"1.26"}]}},
                "org.yaml:snakeyaml":{"1.26":{},"1.29":{},"1.30":{},"1.33":{},"2.0":{}}}}"#,
        )
        .unwrap()
    }

    fn pom(body: &str) -> Project {
        let text = format!(
            "<?xml version=\"1.0\"?>\n<!-- an app -->\n<project xmlns=\"http://maven.apache.org/POM/4.0.0\">\n\
             <modelVersion>4.0.0</modelVersion><groupId>a</groupId><artifactId>app</artifactId><version>1</version>{body}</project>"
        );
        read(&[(POM.to_owned(), text)].into(), &registry()).unwrap()
    }

    fn version<'a>(project: &'a Project, name: &str) -> Option<&'a str> {
        project.packages.iter().find(|package| package.name == name).map(|package| package.version.text())
    }

    const WEB: &str =
        "<dependency><groupId>com.acme</groupId><artifactId>web</artifactId><version>2.6.5</version></dependency>";

    fn dependencies(list: &str) -> String {
        format!("<dependencies>{list}</dependencies>")
    }

    #[test]
    fn the_nearest_definition_wins_and_what_is_not_passed_on_is_not_there() {
        let project = pom(&dependencies(WEB));
        assert_eq!(project.problems, []);
        assert_eq!(version(&project, "org.yaml:snakeyaml"), Some("1.30"));
        assert_eq!(version(&project, "com.acme:core"), Some("2.6.5"));
        assert_eq!(version(&project, "com.acme:testkit"), None);
        assert_eq!(version(&project, "com.acme:extra"), None);
    }

    #[test]
    fn own_management_decides_for_transitive_dependencies() {
        let managed = "<dependencyManagement><dependencies><dependency><groupId>org.yaml</groupId>\
            <artifactId>snakeyaml</artifactId><version>${yaml.version}</version></dependency></dependencies></dependencyManagement>\
            <properties><yaml.version>2.0</yaml.version></properties>";
        let project = pom(&format!("{managed}{}", dependencies(WEB)));
        assert_eq!(version(&project, "org.yaml:snakeyaml"), Some("2.0"));
        assert_eq!(project.requests["dependencyManagement/org.yaml:snakeyaml"].requirement, "2.0");
    }

    #[test]
    fn a_parent_manages_and_its_properties_can_be_set_below_it() {
        let parent =
            "<parent><groupId>com.acme</groupId><artifactId>parent</artifactId><version>2.6.5</version></parent>";
        let junit =
            "<dependency><groupId>junit</groupId><artifactId>junit</artifactId><scope>test</scope></dependency>";
        let project = pom(&format!("{parent}{}", dependencies(&format!("{WEB}{junit}"))));
        assert_eq!(project.problems, []);
        assert_eq!(version(&project, "org.yaml:snakeyaml"), Some("1.29"));
        assert_eq!(version(&project, "junit:junit"), Some("4.13"));
        let properties = "<properties><yaml.version>1.33</yaml.version></properties>";
        let raised = pom(&format!("{parent}{properties}{}", dependencies(WEB)));
        assert_eq!(version(&raised, "org.yaml:snakeyaml"), Some("1.33"));
    }

    #[test]
    fn an_imported_bill_of_materials_keeps_its_own_properties() {
        let imported = "<dependencyManagement><dependencies><dependency><groupId>com.acme</groupId><artifactId>bom</artifactId>\
            <version>7</version><type>pom</type><scope>import</scope></dependency></dependencies></dependencyManagement>\
            <properties><yaml.version>2.0</yaml.version></properties>";
        let project = pom(&format!("{imported}{}", dependencies(WEB)));
        assert_eq!(version(&project, "org.yaml:snakeyaml"), Some("1.33"));
    }

    #[test]
    fn an_exclusion_holds_for_all_that_is_below_it() {
        let excluded = WEB.replace(
            "</dependency>",
            "<exclusions><exclusion><groupId>org.yaml</groupId><artifactId>snakeyaml</artifactId></exclusion></exclusions></dependency>",
        );
        let project = pom(&dependencies(&excluded));
        assert_eq!(version(&project, "org.yaml:snakeyaml"), None);
        assert_eq!(version(&project, "com.acme:core"), Some("2.6.5"));
    }

    #[test]
    fn a_version_that_nobody_gives_and_a_parent_that_is_not_there_are_invalid() {
        let without = pom(&dependencies(&WEB.replace("<version>2.6.5</version>", "")));
        assert!(matches!(&without.problems[..], [Problem::InvalidManifest(_)]));
        let unknown = pom(&dependencies(&WEB.replace("2.6.5", "${web.version}")));
        assert!(matches!(&unknown.problems[..], [Problem::InvalidManifest(_)]));
        let parent = "<parent><groupId>com.acme</groupId><artifactId>parent</artifactId><version>9</version></parent>";
        let missing = pom(&format!("{parent}{}", dependencies(WEB)));
        assert!(matches!(&missing.problems[..], [Problem::InvalidManifest(_)]));
    }

    #[test]
    fn properties_of_dependencies_are_not_in_the_remainder_and_others_are() {
        let with = |yaml: &str, encoding: &str| {
            let properties = format!(
                "<properties><web.version>{yaml}</web.version><encoding>{encoding}</encoding></properties>{}",
                dependencies(&WEB.replace("2.6.5", "${web.version}"))
            );
            pom(&properties).remainder[POM].clone()
        };
        assert_eq!(with("2.6.5", "UTF-8"), with("2.6.6", "UTF-8"));
        assert_ne!(with("2.6.5", "UTF-8"), with("2.6.5", "ASCII"));
    }

    #[test]
    fn a_broken_pom_cannot_be_read() {
        let tree: Tree = [(POM.to_owned(), "<project>".to_owned())].into();
        assert!(matches!(read(&tree, &registry()), Err(ProjectError::Unreadable { .. })));
    }
}
